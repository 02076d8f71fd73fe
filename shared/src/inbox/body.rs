//! Bodies: in the row while that is cheap, else in items of their own, written once.
//!
//! DynamoDB charges every write by the size of the whole item, and a row is written four times in
//! its life; a body that makes it grow past one write unit is paid four times.

use std::borrow::Cow;
use std::cell::RefCell;
use std::io::Read as _;
use std::time::Duration;

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{KeysAndAttributes, PutRequest, WriteRequest};
use flate2::read::DeflateDecoder;
use flate2::{Compress, Compression, FlushCompress, Status};

use super::Inbox;
use super::item::{Item, b, n, s};
use super::row::{Body, Encoding, Row, blob};
use crate::fault::Fault;
use crate::key::Token;
use crate::limits::{BODY_BYTES_MAX, BODY_PART_BYTES, BODY_RETENTION};
use crate::time::Timestamp;

/// Items in one `BatchWriteItem` (DynamoDB API).
const WRITES_PER_BATCH: usize = 25;
const UNIT: usize = 1024;

/// A body that cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum BodyFault {
    /// DynamoDB did not give it now.
    #[error(transparent)]
    Unread(#[from] Fault),
    /// One of its items is not there.
    #[error("body item {0} is missing")]
    Missing(u32),
    /// Its bytes do not decode.
    #[error("the stored body does not decode")]
    Corrupt,
}

/// A body as it will be stored.
pub(super) struct Packed<'b> {
    pub(super) bytes: Cow<'b, [u8]>,
    pub(super) encoding: Encoding,
    pub(super) inline: bool,
}

/// Compresses where that saves a write unit; `room` is what the row has left of its first one.
pub(super) fn pack(body: &[u8], room: usize) -> Packed<'_> {
    let plain = Packed { bytes: body.into(), encoding: Encoding::Identity, inline: true };
    if body.len() <= room {
        return plain;
    }
    let Some(deflated) = deflate(body) else { return Packed { inline: false, ..plain } };
    if deflated.len() <= room {
        Packed { bytes: deflated.into(), encoding: Encoding::Deflate, inline: true }
    } else if deflated.len().div_ceil(UNIT) < body.len().div_ceil(UNIT) {
        Packed { bytes: deflated.into(), encoding: Encoding::Deflate, inline: false }
    } else {
        Packed { inline: false, ..plain }
    }
}

/// What a batch leaves over is over a rate: it is asked for again after a pause, each longer than the
/// last ([`BatchWriteItem`](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html)).
#[derive(Default)]
struct Pauses {
    taken: u32,
    in_vain: u32,
}

impl Pauses {
    /// Waits; `false`, and no wait, when the second repetition has brought nothing either.
    async fn next(&mut self, progress: bool) -> bool {
        self.in_vain = if progress { 0 } else { self.in_vain + 1 };
        if self.in_vain > 2 {
            return false;
        }
        let wait = Duration::from_millis(50) * 2_u32.pow(self.taken.min(4));
        self.taken += 1;
        tokio::time::sleep(wait).await;
        true
    }
}

thread_local! {
    /// Kept, since its tables are a third of a megabyte: made anew for each body, the allocator gives
    /// them back to the system and gets them again, page by page (docs/performance.md).
    static COMPRESSOR: RefCell<Compress> = RefCell::new(Compress::new(Compression::default(), false));
}

/// Nothing for a body that does not become smaller.
fn deflate(body: &[u8]) -> Option<Vec<u8>> {
    let mut deflated = Vec::with_capacity(body.len());
    let ended = COMPRESSOR.with_borrow_mut(|compressor| {
        compressor.reset();
        compressor.compress_vec(body, &mut deflated, FlushCompress::Finish)
    });
    matches!(ended, Ok(Status::StreamEnd)).then_some(deflated)
}

fn unpack(bytes: Vec<u8>, encoding: Encoding) -> Result<Vec<u8>, BodyFault> {
    if encoding == Encoding::Identity {
        return Ok(bytes);
    }
    let mut body = Vec::new();
    let mut decoder = DeflateDecoder::new(bytes.as_slice()).take(BODY_BYTES_MAX as u64);
    decoder.read_to_end(&mut body).map_err(|_| BodyFault::Corrupt)?;
    Ok(body)
}

fn part_key(receipt: &Token, part: u32) -> String {
    format!("~body#{receipt}#{part}")
}

impl Inbox {
    /// Writes a body's items; the row that names them comes after. Returns where they are.
    pub(super) async fn store_parts(
        &self,
        receipt: &Token,
        packed: &Packed<'_>,
        now: Timestamp,
    ) -> Result<Body, Fault> {
        let expires_at = Timestamp::from_secs(now.plus(BODY_RETENTION).secs());
        let items = (0..).zip(packed.bytes.chunks(BODY_PART_BYTES)).map(|(part, bytes)| {
            Item::from([
                ("pk".into(), s(part_key(receipt, part))),
                ("data".into(), b(bytes)),
                ("expires_at".into(), n(expires_at.secs())),
            ])
        });
        let items: Vec<_> = items.collect();
        for batch in items.chunks(WRITES_PER_BATCH) {
            self.write_batch(batch).await?;
        }
        let count = u32::try_from(items.len()).unwrap_or(u32::MAX);
        Ok(Body::Parts { count, expires_at, encoding: packed.encoding })
    }

    async fn write_batch(&self, items: &[Item]) -> Result<(), Fault> {
        const WRITE: &str = "BatchWriteItem";
        let mut left: Vec<_> = items.iter().map(|item| put_request(item.clone())).collect();
        let mut pauses = Pauses::default();
        loop {
            let call = self.dynamodb.batch_write_item().request_items(&self.table, left.clone());
            let answer = call.send().await.map_err(|error| Fault::of(WRITE, &error))?;
            let unprocessed = answer.unprocessed_items.and_then(|mut i| i.remove(&self.table));
            let unprocessed = unprocessed.unwrap_or_default();
            if unprocessed.is_empty() {
                return Ok(());
            }
            if !pauses.next(unprocessed.len() < left.len()).await {
                return Err(Fault::Throttled { operation: WRITE, code: "UnprocessedItems".into() });
            }
            left = unprocessed;
        }
    }

    /// The payload of a row, byte for byte as it was signed.
    ///
    /// # Errors
    /// DynamoDB did not answer, or the items are gone.
    pub async fn body(&self, row: &Row) -> Result<Vec<u8>, BodyFault> {
        match &row.body {
            Body::Inline(bytes, encoding) => unpack(bytes.clone(), *encoding),
            Body::Parts { count, encoding, .. } => {
                unpack(self.read_parts(&row.receipt, *count).await?, *encoding)
            }
        }
    }

    async fn read_parts(&self, receipt: &Token, count: u32) -> Result<Vec<u8>, BodyFault> {
        const READ: &str = "BatchGetItem";
        let keys = |parts: &mut dyn Iterator<Item = u32>| {
            let keys =
                parts.map(|p| Item::from([("pk".into(), s(part_key(receipt, p)))])).collect();
            KeysAndAttributes::builder().set_keys(Some(keys)).consistent_read(true).build()
        };
        let mut parts: Vec<Option<Vec<u8>>> = vec![None; count as usize];
        let mut missing: Vec<u32> = (0..count).collect();
        let mut pauses = Pauses::default();
        while !missing.is_empty() {
            let wanted = keys(&mut missing.iter().copied()).map_err(|_| BodyFault::Corrupt)?;
            let call = self.dynamodb.batch_get_item().request_items(&self.table, wanted);
            let answer = call.send().await.map_err(|error| Fault::of(READ, &error))?;
            let all_answered = answer.unprocessed_keys.is_none_or(|keys| keys.is_empty());
            for item in answer.responses.unwrap_or_default().remove(&self.table).unwrap_or_default()
            {
                let key = super::item::text(&item, "pk").unwrap_or_default();
                let part = key.rsplit('#').next().and_then(|part| part.parse::<usize>().ok());
                if let Some(slot) = part.and_then(|part| parts.get_mut(part)) {
                    *slot = blob(&item, "data").map(<[u8]>::to_vec);
                }
            }
            let before = missing.len();
            missing.retain(|part| parts[*part as usize].is_none());
            match missing.first() {
                Some(part) if all_answered => return Err(BodyFault::Missing(*part)),
                Some(_) if !pauses.next(missing.len() < before).await => {
                    let code = "UnprocessedKeys".into();
                    return Err(Fault::Throttled { operation: READ, code }.into());
                }
                _ => {}
            }
        }
        Ok(parts.into_iter().flatten().flatten().collect())
    }

    /// Gives the body's items their full time again, and notes it in the row and in its copy here. An
    /// item that is gone is said to be and passed over: nobody can bring it back.
    ///
    /// # Errors
    /// DynamoDB did not do one of the writes; the next visit tries again.
    pub async fn renew_body(&self, row: &mut Row, now: Timestamp) -> Result<(), Fault> {
        const WRITE: &str = "UpdateItem";
        let Body::Parts { count, encoding, .. } = row.body else { return Ok(()) };
        let expires_at = now.plus(BODY_RETENTION).secs();
        let renew = |key: String, attribute: &str| {
            self.dynamodb
                .update_item()
                .table_name(&self.table)
                .key("pk", s(key))
                .update_expression("SET #e = :e")
                .condition_expression("attribute_exists(pk)")
                .expression_attribute_names("#e", attribute)
                .expression_attribute_values(":e", n(expires_at))
                .send()
        };
        for part in 0..count {
            match renew(part_key(&row.receipt, part), "expires_at").await {
                Ok(_) => {}
                Err(error) if is_refused(&error) => {
                    tracing::error!(key = %row.key, part, "an item of the body is gone");
                }
                Err(error) => return Err(Fault::of(WRITE, &error)),
            }
        }
        let write = renew(row.key.to_string(), "body_expires_at").await;
        match write {
            Err(error) if !is_refused(&error) => return Err(Fault::of(WRITE, &error)),
            _ => {}
        }
        row.body = Body::Parts { count, encoding, expires_at: Timestamp::from_secs(expires_at) };
        Ok(())
    }
}

fn is_refused<R>(error: &SdkError<UpdateItemError, R>) -> bool {
    error.as_service_error().is_some_and(UpdateItemError::is_conditional_check_failed_exception)
}

fn put_request(item: Item) -> WriteRequest {
    #[expect(clippy::expect_used, reason = "the builder fails only without an item")]
    let put = PutRequest::builder().set_item(Some(item)).build().expect("an item");
    WriteRequest::builder().put_request(put).build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_packed_where_that_saves_a_unit_and_comes_back_byte_for_byte() {
        let text = r#"{"event_id":"evt_1","amount":100},"#.repeat(100);
        let noise: Vec<u8> =
            (0..3000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let noise: Vec<u8> = noise.iter().map(|byte| byte ^ fastrand::u8(..)).collect();
        for (body, room, encoding, inline) in [
            (&b"{}"[..], 2, Encoding::Identity, true),
            (text.as_bytes(), 500, Encoding::Deflate, true),
            (text.as_bytes(), 10, Encoding::Deflate, false),
            (&noise, 500, Encoding::Identity, false),
        ] {
            let packed = pack(body, room);
            assert_eq!((packed.encoding, packed.inline), (encoding, inline));
            assert_eq!(unpack(packed.bytes.into_owned(), encoding).unwrap(), body);
        }
        assert!(matches!(unpack(vec![0xff; 9], Encoding::Deflate), Err(BodyFault::Corrupt)));
    }
}
