//! The mechanisms that hold the promise, and how the fault layer takes each away: by rewriting
//! requests and answers on their way, since the product has no such switch.

use serde_json::{Value, json};

use super::engine::Answer;

/// What can be taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mechanism {
    /// Nobody sends again what was lost.
    Sweeper,
    /// A write after a claim no longer asks whose lease it is.
    Fence,
    /// "The row exists, so 200": a duplicate's row seems to be finished.
    DuplicateState,
    /// A put repeated by the SDK does not know its own row.
    Receipt,
    /// Unfinished rows expire.
    ExpiryWhenFinished,
    /// Bodies are not renewed.
    BodyRenewal,
    /// What is nobody's fault uses up attempts.
    Refund,
    /// A repetition comes at once.
    BackOff,
    /// A group goes on behind a record that failed.
    GroupStop,
    /// What has no id is stored under one and the same.
    DigestKey,
    /// Queues seem empty, so that the sweeper sends all it may.
    DepthGate,
}

const FENCE: &str = "#status = :processing AND lease_owner = :me";
const NO_FENCE: &str = "#status = :processing OR lease_owner = :me OR attribute_exists(pk)";

impl Mechanism {
    /// Changes a request on its way. An answer instead: the request goes no further.
    pub(crate) fn request(self, step: &str, request: &mut Value, now_ms: i64) -> Option<Answer> {
        match self {
            Self::Fence if step == "commit" => {
                let condition = &mut request["TransactItems"][0]["Update"]["ConditionExpression"];
                *condition = condition.as_str()?.replace(FENCE, NO_FENCE).into();
            }
            Self::Fence if matches!(step, "finish" | "release" | "fail") => {
                let condition = &mut request["ConditionExpression"];
                *condition = condition.as_str()?.replace(FENCE, NO_FENCE).into();
            }
            Self::ExpiryWhenFinished if step == "put" => {
                let expires = now_ms / 1000 + 30 * 86_400;
                request["Item"]["expires_at"] = json!({ "N": expires.to_string() });
            }
            Self::DigestKey if step == "put" && !request["Item"]["error_kind"].is_null() => {
                let source = request["Item"]["source"]["S"].as_str()?;
                request["Item"]["pk"] = json!({ "S": format!("{source}#no-id") });
            }
            Self::BodyRenewal if step == "renew" => {
                return Some(Answer { status: 200, body: "{}".into() });
            }
            Self::Refund if step == "release" => {
                request["ExpressionAttributeValues"][":refund"] = json!({ "N": "0" });
            }
            Self::BackOff if step == "release" => {
                request["ExpressionAttributeValues"][":until"] = json!({ "N": now_ms.to_string() });
            }
            Self::BackOff if step == "give back" => request["VisibilityTimeout"] = 0.into(),
            _ => {}
        }
        None
    }

    /// Changes an answer on its way.
    pub(crate) fn answer(self, step: &str, answer: &mut Answer) {
        if self == Self::DepthGate && step == "queue depth" && answer.status == 200 {
            answer.body = json!({ "Attributes": {} }).to_string();
        }
        if step != "put" || answer.status != 400 {
            return;
        }
        let mut body = answer.json();
        if body["Item"].is_null() {
            return;
        }
        match self {
            Self::DuplicateState => body["Item"]["status"] = json!({ "S": "done" }),
            Self::Receipt => body["Item"]["receipt"] = json!({ "S": "somebody else's" }),
            _ => return,
        }
        answer.body = body.to_string();
    }
}
