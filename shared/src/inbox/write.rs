//! One conditional write of a row, and what its answer means.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use aws_sdk_dynamodb::config::interceptors::BeforeTransmitInterceptorContextRef;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;

use super::item::Item;
use crate::fault::Fault;

/// What a conditional write did.
pub(super) enum Written {
    /// It happened; the attributes that were asked for.
    Done(Item),
    /// Its condition did not hold; the row as it is, or nothing where there is none.
    Refused(Option<Item>),
}

pub(super) async fn write(call: UpdateItemFluentBuilder) -> Result<Written, Fault> {
    write_once(call, |_| false).await
}

/// A write that must know its own work again. If an answer is lost the SDK repeats the call, and the
/// repetition is refused by the row that the first one made: `own` tells that row. Nothing else that
/// is refused is our own, however alike it looks: two who write in one millisecond write the same.
pub(super) async fn write_once(
    call: UpdateItemFluentBuilder,
    own: impl Fn(&Item) -> bool,
) -> Result<Written, Fault> {
    let (attempts, own) = (&Attempts::default(), &own);
    in_turn(|| {
        let call = call.clone().customize().interceptor(attempts.clone());
        async move {
            let error = match call.send().await {
                Ok(answer) => return Ok(Written::Done(answer.attributes.unwrap_or_default())),
                Err(error) => error,
            };
            if let Some(UpdateItemError::ConditionalCheckFailedException(refused)) =
                error.as_service_error()
            {
                return Ok(match refused.item.clone() {
                    Some(row) if attempts.repeated() && own(&row) => Written::Done(row),
                    row => Written::Refused(row),
                });
            }
            let fault = Fault::of("UpdateItem", &error);
            attempts.forget_if_refused(&fault);
            Err(fault)
        }
    })
    .await
}

/// A write that meets a transaction on its item is refused, and the SDK does not repeat it:
/// [Conflict handling](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html).
/// A commit takes some twenty milliseconds; after these waits the write finds what became of the row.
pub(super) async fn in_turn<T, W: Future<Output = Result<T, Fault>>>(
    write: impl Fn() -> W,
) -> Result<T, Fault> {
    for wait in [50, 150, 400].map(Duration::from_millis) {
        match write().await {
            Err(Fault::Conflict { .. }) => tokio::time::sleep(wait).await,
            other => return other,
        }
    }
    write().await
}

/// How often one call was sent that may have taken effect.
#[derive(Clone, Debug, Default)]
struct Attempts(Arc<AtomicU32>);

impl Attempts {
    fn repeated(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 1
    }

    /// What was told to wait its turn has not happened.
    fn forget_if_refused(&self, fault: &Fault) {
        if matches!(fault, Fault::Conflict { .. }) {
            self.0.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Intercept for Attempts {
    fn name(&self) -> &'static str {
        "Attempts"
    }

    fn read_before_attempt(
        &self,
        _context: &BeforeTransmitInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        _config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}
