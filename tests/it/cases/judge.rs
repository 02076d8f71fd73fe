//! What an answer means for the table and the queues, checked in one place.

use serde_json::{Value, json};

use super::desk::{Desk, Reply};
use super::producers::Post;
use crate::support::world::string;

/// What becomes of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// 200; stored byte for byte, sent once, run once.
    Taken,
    /// 401; nothing is stored or sent.
    Refused,
    /// The contract's answer (400 to Kudos, 200 to the others); its bytes are kept as `failed`
    /// under their digest, nothing is sent.
    Unusable,
    /// This status; nothing is stored or sent.
    Status(u16),
    /// A function error of one short line; nothing is stored or sent.
    Error,
}

pub(crate) use Answer::{Error, Refused, Status, Taken, Unusable};

/// One line of a table: a kind of input, the answer, and an input of that kind.
pub(crate) struct Case<I> {
    pub(crate) kind: &'static str,
    pub(crate) answer: Answer,
    pub(crate) input: I,
}

pub(crate) fn case<I>(kind: &'static str, answer: Answer, input: I) -> Case<I> {
    Case { kind, answer, input }
}

/// Judges deliveries that come through an HTTP API.
pub(crate) async fn judge_all(desk: &Desk, cases: impl IntoIterator<Item = Case<Post>>) {
    for Case { kind, answer, input } in cases {
        let event = input.event();
        judge(desk, kind, answer, &input, event).await;
    }
}

/// Hands an event to the ingress and looks at everything that it may have left behind. The desk's
/// queues must be empty.
pub(crate) async fn judge(desk: &Desk, kind: &str, answer: Answer, post: &Post, event: Value) {
    let kind = format!("{}: {kind}", post.producer.name());
    let before = desk.row_count().await;
    if answer == Error {
        let error = desk.invoke(event).await.expect_err(&kind);
        assert!(!error.is_empty() && error.len() < 200 && !error.contains('\n'), "{kind}: {error}");
        assert_eq!(desk.row_count().await, before, "{kind}: rows");
        return;
    }
    let Reply { status, retry_after, .. } = desk.ask(event).await;
    let queued = desk.queued().await;
    let after = desk.row_count().await;
    let expected = match answer {
        Answer::Taken => 200,
        Answer::Refused => 401,
        Answer::Unusable => post.producer.unusable(),
        Answer::Status(status) => status,
        Answer::Error => unreachable!("judged above"),
    };
    assert_eq!(status, expected, "{kind}");
    // Come again: said by faults of ours, and by nothing else.
    assert_eq!(retry_after.is_some(), status == 503, "{kind}");
    let kept = matches!(answer, Answer::Taken | Answer::Unusable);
    assert_eq!(after - before, usize::from(kept), "{kind}: rows");
    match answer {
        Answer::Taken => {
            let [message] = &queued[..] else { panic!("{kind}: not one message: {queued:?}") };
            taken(desk, &kind, post, &message.body).await;
        }
        Answer::Unusable => {
            assert_eq!(queued.len(), 0, "{kind}: sent");
            let key = post.unusable_row();
            let row = desk.find(&key).await.unwrap_or_else(|| panic!("{kind}: no {key}"));
            let seen = (string(&row, "status"), string(&row, "error_kind"));
            assert_eq!(seen, ("failed", "unusable"), "{kind}");
            assert!(desk.stored(&key).await == post.body, "{kind}: other bytes are kept");
        }
        Answer::Refused | Answer::Status(_) | Answer::Error => {
            assert_eq!(queued.len(), 0, "{kind}: sent");
        }
    }
}

/// Stored as it came, pointed to by its one message, and run once however often that comes.
async fn taken(desk: &Desk, kind: &str, post: &Post, message: &str) {
    let key = post.row();
    assert_eq!(desk.status(&key).await, "pending", "{kind}");
    assert!(desk.stored(&key).await == post.body, "{kind}: other bytes are kept");
    let pointer: Value = serde_json::from_str(message).unwrap();
    let expected = json!({"source": post.producer.name(), "event_id": post.id});
    assert_eq!(pointer, expected, "{kind}");
    for _ in 0..2 {
        let answer = desk.batch(&[desk.record("m", message, "g")]).await;
        assert_eq!(answer, r#"{"batchItemFailures":[]}"#, "{kind}");
    }
    assert_eq!(desk.status(&key).await, "done", "{kind}");
    assert_eq!((desk.applied(&key).await, desk.runs(&key).len()), (1, 1), "{kind}");
}
