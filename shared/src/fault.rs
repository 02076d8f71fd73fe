//! What an AWS call that did not work means for the caller.

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;

/// A call that AWS did not do. Carries the operation and the error code, never a message: messages
/// may repeat what was sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Over a rate: the same call works later. Nobody's mistake, so it uses up no attempt.
    #[error("{operation} was throttled ({code})")]
    Throttled {
        /// The API operation.
        operation: &'static str,
        /// AWS's error code.
        code: String,
    },
    /// Another write on the same item was in flight: the same call works at once or soon.
    #[error("{operation} met another write on the same item ({code})")]
    Conflict {
        /// The API operation.
        operation: &'static str,
        /// AWS's error code.
        code: String,
    },
    /// AWS understood and will not do it: a missing permission, table, queue or secret, or a value
    /// it does not take. Repeating helps only after somebody changed something.
    #[error("{operation} was refused ({code})")]
    Refused {
        /// The API operation.
        operation: &'static str,
        /// AWS's error code.
        code: String,
    },
    /// No answer, or a failure on AWS's side. Whether the call took effect is not known.
    #[error("{operation} got no answer ({code})")]
    Unanswered {
        /// The API operation.
        operation: &'static str,
        /// AWS's error code, or what happened on the way.
        code: String,
    },
}

impl Fault {
    /// Reads an SDK error.
    pub fn of<E: ProvideErrorMetadata>(
        operation: &'static str,
        error: &SdkError<E, HttpResponse>,
    ) -> Self {
        match error {
            SdkError::ServiceError(context) => {
                let code = context.err().code().unwrap_or("unknown").to_owned();
                Self::of_code(operation, code, context.raw().status().as_u16())
            }
            SdkError::TimeoutError(_) => Self::unanswered(operation, "timeout"),
            SdkError::DispatchFailure(_) => Self::unanswered(operation, "connection"),
            SdkError::ResponseError(_) => Self::unanswered(operation, "unreadable answer"),
            _ => Self::Refused { operation, code: "request could not be built".into() },
        }
    }

    /// The call's budget was spent before an answer came.
    pub fn out_of_time(operation: &'static str) -> Self {
        Self::unanswered(operation, "out of time")
    }

    /// Reads an error code, with the HTTP status it came with.
    pub(crate) fn of_code(operation: &'static str, code: String, status: u16) -> Self {
        match code.as_str() {
            "ThrottlingException"
            | "Throttling"
            | "ThrottlingError"
            | "ProvisionedThroughputExceededException"
            | "ProvisionedThroughputExceeded"
            | "RequestLimitExceeded"
            | "RequestThrottled"
            | "RequestThrottledException"
            | "TooManyRequestsException"
            | "OverLimit"
            | "KmsThrottled"
            | "KMS.ThrottlingException"
            | "LimitExceededException" => Self::Throttled { operation, code },
            "TransactionConflictException"
            | "TransactionConflict"
            | "TransactionInProgressException"
            | "ReplicatedWriteConflictException" => Self::Conflict { operation, code },
            _ if status >= 500 => Self::Unanswered { operation, code },
            _ => Self::Refused { operation, code },
        }
    }

    /// AWS's error code, for a log field.
    pub fn code(&self) -> &str {
        match self {
            Self::Throttled { code, .. }
            | Self::Conflict { code, .. }
            | Self::Refused { code, .. }
            | Self::Unanswered { code, .. } => code,
        }
    }

    fn unanswered(operation: &'static str, code: &str) -> Self {
        Self::Unanswered { operation, code: code.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_say_what_the_caller_can_do() {
        let of = |code: &str, status| Fault::of_code("PutItem", code.to_owned(), status);
        assert!(matches!(of("ThrottlingException", 400), Fault::Throttled { .. }));
        assert!(matches!(of("KMS.ThrottlingException", 400), Fault::Throttled { .. }));
        assert!(matches!(of("TransactionConflictException", 400), Fault::Conflict { .. }));
        assert!(matches!(of("InternalServerError", 500), Fault::Unanswered { .. }));
        assert!(matches!(of("AccessDeniedException", 400), Fault::Refused { .. }));
        assert_eq!(
            of("AccessDeniedException", 400).to_string(),
            "PutItem was refused (AccessDeniedException)"
        );
    }
}
