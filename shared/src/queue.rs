//! The queues: a message is a pointer to a row, and can always be made again from it.

use std::time::Duration;

use aws_sdk_sqs::error::ProvideErrorMetadata;
use aws_sdk_sqs::types::{QueueAttributeName, SendMessageBatchRequestEntry};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::fault::Fault;
use crate::key::{EventId, EventKey, EventType, SourceName, Token, hex};
use crate::source::Ordering;

/// Entries in one `SendMessageBatch` (SQS API).
pub const SENDS_PER_BATCH: usize = 10;

/// The two queues, through the SDK.
#[derive(Clone, Debug)]
pub struct Queues {
    sqs: aws_sdk_sqs::Client,
    standard: String,
    fifo: String,
}

/// A pointer to be sent.
#[derive(Clone, Debug)]
pub struct Pointer {
    /// The row.
    pub key: EventKey,
    /// Its type, which is its group on the FIFO queue.
    pub event_type: Option<EventType>,
}

/// A message body that points to no row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the message is not {{\"source\":\"…\",\"event_id\":\"…\"}}")]
pub struct NotAPointer;

/// Why a pointer was not sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendFault {
    /// SQS calls the message itself invalid: it never will be sent.
    #[error("the queue refuses the message ({0})")]
    Invalid(String),
    /// Not now.
    #[error(transparent)]
    Fault(#[from] Fault),
}

#[derive(Deserialize, Serialize)]
struct Wire<'a> {
    #[serde(borrow)]
    source: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    event_id: std::borrow::Cow<'a, str>,
}

impl Pointer {
    /// The message body: JSON in ASCII, so that no id can make it unsendable.
    pub fn body(&self) -> String {
        let wire =
            Wire { source: self.key.source.as_str().into(), event_id: self.key.id.as_str().into() };
        #[expect(clippy::expect_used, reason = "two strings always serialise")]
        let json = serde_json::to_string(&wire).expect("two strings");
        ascii(&json)
    }

    /// Reads a message body.
    ///
    /// # Errors
    /// It is none of ours.
    pub fn parse(body: &str) -> Result<EventKey, NotAPointer> {
        let wire: Wire<'_> = serde_json::from_str(body).map_err(|_| NotAPointer)?;
        let source = SourceName::parse(&wire.source).map_err(|_| NotAPointer)?;
        Ok(EventKey { source, id: EventId::parse(&wire.event_id).map_err(|_| NotAPointer)? })
    }

    /// The FIFO group: the source and the type's digest, since types may hold what a group id may
    /// not.
    fn group(&self) -> String {
        let event_type = self.event_type.as_ref().map_or("", EventType::as_str);
        format!("{}#{}", self.key.source, hex(&Sha256::digest(event_type)))
    }
}

/// Escapes what is not ASCII; in JSON that is only ever inside strings.
fn ascii(json: &str) -> String {
    use std::fmt::Write as _;
    json.chars().fold(String::with_capacity(json.len()), |mut out, c| {
        if c.is_ascii() {
            out.push(c);
        } else {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
        out
    })
}

impl Queues {
    /// The standard and the FIFO queue with these URLs.
    pub fn new(sqs: aws_sdk_sqs::Client, standard: &str, fifo: &str) -> Self {
        Self { sqs, standard: standard.to_owned(), fifo: fifo.to_owned() }
    }

    /// Opens a connection to SQS, so that the first event does not wait for it.
    ///
    /// # Errors
    /// SQS could not be reached.
    pub async fn warm_up(&self) -> Result<(), Fault> {
        self.depth(Ordering::None).await.map(drop)
    }

    fn url(&self, ordering: Ordering) -> &str {
        match ordering {
            Ordering::None => &self.standard,
            Ordering::PerType => &self.fifo,
        }
    }

    /// Sends one pointer. Each send has its own deduplication id: SQS must not swallow a repetition.
    ///
    /// # Errors
    /// The message is invalid, or SQS did not take it now.
    pub async fn send(&self, pointer: &Pointer, ordering: Ordering) -> Result<(), SendFault> {
        let message = self.sqs.send_message().queue_url(self.url(ordering));
        let message = message.message_body(pointer.body());
        let message = match ordering {
            Ordering::None => message,
            Ordering::PerType => message
                .message_group_id(pointer.group())
                .message_deduplication_id(Token::fresh().as_str()),
        };
        let Err(error) = message.send().await else { return Ok(()) };
        let code = error.as_service_error().and_then(ProvideErrorMetadata::code);
        match code {
            Some(code) if is_invalid(code) => Err(SendFault::Invalid(code.to_owned())),
            _ => Err(Fault::of("SendMessage", &error).into()),
        }
    }

    /// Sends up to [`SENDS_PER_BATCH`] pointers in one call; the answer to each in its place.
    pub async fn send_batch(
        &self,
        pointers: &[Pointer],
        ordering: Ordering,
    ) -> Vec<Result<(), SendFault>> {
        const SEND: &str = "SendMessageBatch";
        let entries = pointers.iter().enumerate().map(|(index, pointer)| {
            let entry = SendMessageBatchRequestEntry::builder()
                .id(index.to_string())
                .message_body(pointer.body());
            let entry = match ordering {
                Ordering::None => entry,
                Ordering::PerType => entry
                    .message_group_id(pointer.group())
                    .message_deduplication_id(Token::fresh().as_str()),
            };
            #[expect(clippy::expect_used, reason = "id and body are set above")]
            entry.build().expect("a complete entry")
        });
        let call = self.sqs.send_message_batch().queue_url(self.url(ordering));
        let answer = match call.set_entries(Some(entries.collect())).send().await {
            Ok(answer) => answer,
            Err(error) => return vec![Err(Fault::of(SEND, &error).into()); pointers.len()],
        };
        let mut sent = vec![Ok(()); pointers.len()];
        for failed in answer.failed() {
            let slot = failed.id().parse::<usize>().ok().and_then(|index| sent.get_mut(index));
            let code = failed.code().to_owned();
            let fault = if is_invalid(&code) {
                SendFault::Invalid(code)
            } else {
                let status = if failed.sender_fault() { 400 } else { 500 };
                Fault::of_code(SEND, code, status).into()
            };
            if let Some(slot) = slot {
                *slot = Err(fault);
            }
        }
        sent
    }

    /// About how many messages a queue holds, in flight and delayed ones included.
    ///
    /// # Errors
    /// SQS did not say.
    pub async fn depth(&self, ordering: Ordering) -> Result<usize, Fault> {
        let counts = [
            QueueAttributeName::ApproximateNumberOfMessages,
            QueueAttributeName::ApproximateNumberOfMessagesNotVisible,
            QueueAttributeName::ApproximateNumberOfMessagesDelayed,
        ];
        let call = self.sqs.get_queue_attributes().queue_url(self.url(ordering));
        let answer = call.set_attribute_names(Some(counts.to_vec())).send().await;
        let answer = answer.map_err(|error| Fault::of("GetQueueAttributes", &error))?;
        let of = |name| answer.attributes()?.get(name)?.parse::<usize>().ok();
        Ok(counts.iter().filter_map(of).sum())
    }

    /// Lets a received message come back after `wait`, rounded up to whole seconds. SQS takes no more
    /// than is left of twelve hours since the receive; an invocation has used up a few minutes of them:
    /// [`ChangeMessageVisibility`](https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ChangeMessageVisibility.html).
    ///
    /// # Errors
    /// SQS did not do it: the message comes back when its visibility timeout ends.
    pub async fn come_back(
        &self,
        receipt_handle: &str,
        ordering: Ordering,
        wait: Duration,
    ) -> Result<(), Fault> {
        let secs = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        let call = self.sqs.change_message_visibility().queue_url(self.url(ordering));
        let call = call.receipt_handle(receipt_handle);
        let call = call.visibility_timeout(i32::try_from(secs).unwrap_or(i32::MAX).min(43_000));
        call.send().await.map(drop).map_err(|e| Fault::of("ChangeMessageVisibility", &e))
    }
}

/// The message is at fault, not the queue, the rights or the moment. (`InvalidParameterValue` is none of
/// these codes: a pointer's own parameters always fit, so it is about the queue that is meant.)
fn is_invalid(code: &str) -> bool {
    matches!(
        code,
        "InvalidMessageContents"
            | "AWS.SimpleQueueService.InvalidMessageContents"
            | "MessageTooLong"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pointer(id: &str, event_type: &str) -> Pointer {
        Pointer {
            key: EventKey {
                source: SourceName::parse("kudos").unwrap(),
                id: EventId::parse(id).unwrap(),
            },
            event_type: EventType::parse(event_type).ok(),
        }
    }

    #[test]
    fn a_pointer_is_ascii_and_reads_back() {
        for id in ["evt_1", "\"quoted\\", "évt😀\u{2028}", "</script>"] {
            let pointer = pointer(id, "a.b");
            assert!(pointer.body().is_ascii(), "{}", pointer.body());
            assert_eq!(Pointer::parse(&pointer.body()), Ok(pointer.key));
        }
        let body = pointer("é😀", "a").body();
        assert_eq!(body, r#"{"source":"kudos","event_id":"\u00e9\ud83d\ude00"}"#);
    }

    #[test]
    fn what_is_no_pointer_is_refused() {
        for body in [
            "",
            "{}",
            "[]",
            r#"{"source":"kudos"}"#,
            r#"{"source":"K","event_id":"a"}"#,
            r#"{"source":"kudos","event_id":""}"#,
            r#"{"source":"kudos","event_id":5}"#,
        ] {
            assert_eq!(Pointer::parse(body), Err(NotAPointer), "{body}");
        }
    }

    #[test]
    fn a_group_is_a_source_and_a_type_in_letters_that_sqs_takes() {
        let group = pointer("a", "weird type ümläut").group();
        assert!(group.len() <= 128 && group.is_ascii() && !group.contains(' '), "{group}");
        assert_eq!(group, pointer("b", "weird type ümläut").group());
        assert_ne!(group, pointer("a", "other").group());
    }
}
