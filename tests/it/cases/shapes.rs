//! One request in the six spellings that Lambda has for HTTP, each with what it loses on the way.
//!
//! Field names are those of the AWS guides (API Gateway payload formats 1.0 and 2.0, Lambda
//! function URLs, Lambda targets of a load balancer).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

const ACCOUNT: &str = "210987654321";
const AGENT: &str = "hook-sender/3.2";

/// Which door the request came through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// HTTP API, payload format 2.0.
    HttpApi,
    /// Lambda function URL.
    FunctionUrl,
    /// REST API.
    RestApi,
    /// HTTP API, payload format 1.0.
    HttpApiOne,
    /// Load balancer, single-value headers.
    Balancer,
    /// Load balancer, multi-value headers.
    BalancerMulti,
}

impl Shape {
    pub(crate) const ALL: [Self; 6] = [
        Self::HttpApi,
        Self::FunctionUrl,
        Self::RestApi,
        Self::HttpApiOne,
        Self::Balancer,
        Self::BalancerMulti,
    ];
    /// Those that have stages.
    pub(crate) const STAGED: [Self; 3] = [Self::HttpApi, Self::RestApi, Self::HttpApiOne];
}

/// The stage of an API, and whether the path shows it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stage {
    /// `$default`, or a door without stages.
    None,
    /// Named, and in front of the path.
    InPath(&'static str),
    /// Named, and left out of the path.
    Beside(&'static str),
}

/// A request before any door has touched it.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) stage: Stage,
    /// In the order and spelling of the sender.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Whether the door hands the body on as base64. Without it the body has to be UTF-8.
    pub(crate) base64: bool,
}

impl Request {
    /// The Lambda event of it.
    pub(crate) fn event(&self, shape: Shape) -> Value {
        match shape {
            Shape::HttpApi => self.format_two("k3.execute-api.eu-north-1.amazonaws.com", ACCOUNT),
            Shape::FunctionUrl => self.format_two("k3.lambda-url.eu-north-1.on.aws", "anonymous"),
            Shape::RestApi => self.format_one(false),
            Shape::HttpApiOne => self.format_one(true),
            Shape::Balancer => self.balancer(false),
            Shape::BalancerMulti => self.balancer(true),
        }
    }

    fn format_two(&self, host: &str, account: &str) -> Value {
        let path = self.shown_path();
        let mut event = json!({
            "version": "2.0",
            "routeKey": "$default",
            "rawPath": path,
            "rawQueryString": "",
            "headers": self.joined(),
            "requestContext": {
                "accountId": account,
                "apiId": "k3",
                "domainName": host,
                "domainPrefix": "k3",
                "http": {
                    "method": self.method,
                    "path": path,
                    "protocol": "HTTP/1.1",
                    "sourceIp": "198.51.100.7",
                    "userAgent": AGENT,
                },
                "requestId": "Jk1mZhGrIAMEPxQ=",
                "routeKey": "$default",
                "stage": self.stage_name(),
                "time": "15/Jan/2027:08:00:00 +0000",
                "timeEpoch": 1_800_000_000_000_i64,
            },
            "isBase64Encoded": self.base64,
        });
        if !self.body.is_empty() {
            event["body"] = self.body_text();
        }
        event
    }

    fn format_one(&self, http_api: bool) -> Value {
        let path = self.shown_path();
        let mut event = json!({
            "resource": "/webhooks/{source}",
            "path": path,
            "httpMethod": self.method,
            "headers": self.last(),
            "multiValueHeaders": self.all(),
            "queryStringParameters": null,
            "multiValueQueryStringParameters": null,
            "pathParameters": null,
            "stageVariables": null,
            "requestContext": {
                "accountId": ACCOUNT,
                "apiId": "k3",
                "httpMethod": self.method,
                "identity": { "sourceIp": "198.51.100.7", "userAgent": AGENT },
                "path": format!("/{}{}", self.stage_name(), self.path),
                "protocol": "HTTP/1.1",
                "requestId": "0b8d2c1e-7d7e-4a57-9d4f-6b1f2f3a9c11",
                "requestTime": "15/Jan/2027:08:00:00 +0000",
                "requestTimeEpoch": 1_800_000_000_000_i64,
                "resourceId": "h7",
                "resourcePath": "/webhooks/{source}",
                "stage": self.stage_name(),
            },
            "isBase64Encoded": self.base64,
        });
        if http_api {
            event["version"] = "1.0".into();
        }
        event["body"] = if self.body.is_empty() { Value::Null } else { self.body_text() };
        event
    }

    fn balancer(&self, multi: bool) -> Value {
        let group = format!(
            "arn:aws:elasticloadbalancing:eu-north-1:{ACCOUNT}:targetgroup/hooks/73e2d6bc24d8a067"
        );
        let mut event = json!({
            "requestContext": { "elb": { "targetGroupArn": group } },
            "httpMethod": self.method,
            "path": self.path,
            "isBase64Encoded": self.base64,
        });
        event["body"] = self.body_text();
        let (query, headers, map) = match multi {
            true => ("multiValueQueryStringParameters", "multiValueHeaders", self.all()),
            false => ("queryStringParameters", "headers", self.last()),
        };
        event[query] = json!({});
        event[headers] = map.into();
        event
    }

    /// Names in lower case; of a name sent twice, the values joined with a comma.
    fn joined(&self) -> Map<String, Value> {
        let mut map = Map::new();
        for (name, value) in &self.headers {
            let joined = match map.get(&name.to_ascii_lowercase()).and_then(Value::as_str) {
                Some(before) => format!("{before},{value}"),
                None => value.clone(),
            };
            map.insert(name.to_ascii_lowercase(), joined.into());
        }
        map
    }

    /// Names as sent; of a name sent twice, the last value.
    fn last(&self) -> Map<String, Value> {
        self.headers.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect()
    }

    /// Names as sent, each with all its values.
    fn all(&self) -> Map<String, Value> {
        let mut map = Map::new();
        for (name, value) in &self.headers {
            let values = map.entry(name.as_str()).or_insert_with(|| json!([]));
            values.as_array_mut().unwrap().push(value.as_str().into());
        }
        map
    }

    fn body_text(&self) -> Value {
        Value::String(match self.base64 {
            true => STANDARD.encode(&self.body),
            false => String::from_utf8(self.body.clone()).unwrap(),
        })
    }

    fn stage_name(&self) -> &str {
        match self.stage {
            Stage::None => "$default",
            Stage::InPath(name) | Stage::Beside(name) => name,
        }
    }

    fn shown_path(&self) -> String {
        match self.stage {
            Stage::InPath(name) => format!("/{name}{}", self.path),
            Stage::None | Stage::Beside(_) => self.path.clone(),
        }
    }
}
