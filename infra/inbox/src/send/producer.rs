//! The producers that are known by their signature: what they put around a body.

use std::time::Duration;

use http::HeaderName;
use serde_json::json;
use shared::key::Token;
use shared::source::{Field, IdRule, Profile};
use shared::time::Timestamp;

use super::event::{Event, Template};
use super::sign::Keys;
use crate::when;

/// A producer with habits of its own.
#[derive(Clone, Debug)]
pub(super) enum Producer {
    Kudos,
    Kallglot,
    Apiera,
    /// Standard Webhooks, under the names of Svix where the profile has those.
    StandardWebhooks {
        svix: bool,
    },
    Stripe,
    GitHub,
    Slack,
    Shopify,
    /// One that is known by its profile alone.
    Other(Box<Profile>),
}

/// What sends.
#[derive(Debug)]
pub(super) struct Sender<'p> {
    pub(super) profile: &'p Profile,
    pub(super) template: Template,
    pub(super) keys: Keys,
    /// Signed this long before it is sent.
    pub(super) age: Duration,
    /// Which attempt it is, from 1.
    pub(super) attempt: u32,
    /// The body is changed after signing.
    pub(super) tamper: bool,
}

/// A request, ready to go.
#[derive(Clone, Debug)]
pub(super) struct Delivery {
    pub(super) headers: Vec<(HeaderName, String)>,
    pub(super) body: Vec<u8>,
}

impl Sender<'_> {
    /// Delivery number `n`, from 1, as it is sent now.
    pub(super) fn delivery(&self, n: u32, now: Timestamp) -> Delivery {
        let producer = self.template.producer();
        let signed_at = now.minus(self.age);
        let first_sent = signed_at.minus(producer.until_attempt(self.attempt));
        let event = self.template.event(n, first_sent);
        let mut headers = self.headers(&event, first_sent);
        let mut body = event.body;
        self.keys.sign(&self.profile.scheme, &mut headers, &body, signed_at.secs());
        producer.rename(&mut headers);
        if self.tamper
            && let Some(last) = body.iter_mut().rev().find(|b| b.is_ascii_alphanumeric())
        {
            *last ^= 1;
        }
        Delivery { headers, body }
    }

    /// All headers but those of the signature.
    fn headers(&self, event: &Event, first_sent: Timestamp) -> Vec<(HeaderName, String)> {
        let rule = &self.profile.event;
        let mut headers = vec![];
        let mut set = |name: HeaderName, value: String| {
            if !headers.iter().any(|(known, _)| *known == name) {
                headers.push((name, value));
            }
        };
        let producer = self.template.producer();
        set(http::header::CONTENT_TYPE, "application/json".into());
        set(http::header::USER_AGENT, producer.user_agent());
        if let IdRule::At(Field::Header(name)) = &rule.id {
            set(name.clone(), event.id.clone());
        }
        if let Field::Header(name) = &rule.event_type {
            set(name.clone(), self.template.event_type.clone());
        }
        if let Some(name) = &rule.id_copy {
            set(name.clone(), event.id.clone());
        }
        let counted = rule.attempt.as_ref().filter(|count| self.attempt > 1 || count.first == 0);
        if let Some(count) = counted {
            set(count.header.clone(), (self.attempt - 1 + count.first).to_string());
        }
        for (name, value) in producer.extras(event, self.attempt, first_sent) {
            set(HeaderName::from_static(name), value);
        }
        headers
    }
}

impl Producer {
    /// Known by the header that carries its signature.
    pub(super) fn of(profile: &Profile) -> Self {
        let svix = profile.scheme.aliases.iter().any(|(alias, _)| alias == "svix-signature");
        match profile.scheme.header.as_str() {
            "x-kudos-signature" => Self::Kudos,
            "kallglot-signature" => Self::Kallglot,
            "stripe-signature" => Self::Stripe,
            "x-hub-signature-256" => Self::GitHub,
            "x-slack-signature" => Self::Slack,
            "x-shopify-hmac-sha256" => Self::Shopify,
            "webhook-signature" if matches!(profile.event.event_type, Field::Header(_)) => {
                Self::Apiera
            }
            "webhook-signature" => Self::StandardWebhooks { svix },
            _ => Self::Other(Box::new(profile.clone())),
        }
    }

    /// A type that handlers take, or that the producer is known for.
    pub(super) fn usual_type(&self, profile: &Profile) -> String {
        let text = match self {
            Self::Kudos => "payment.succeeded",
            Self::Kallglot => "session.started",
            Self::Apiera => "product.created",
            Self::Stripe => "payment_intent.succeeded",
            Self::GitHub => "push",
            Self::Slack => "app_mention",
            Self::Shopify => "orders/create",
            Self::StandardWebhooks { .. } | Self::Other(_) => {
                profile.event.types.first().map_or("sample.event", String::as_str)
            }
        };
        text.to_owned()
    }

    /// What its ids begin with.
    pub(super) fn id_prefix(&self) -> &'static str {
        match self {
            Self::StandardWebhooks { .. } => "msg_",
            Self::Slack => "Ev",
            _ => "evt_",
        }
    }

    /// A payload that the handlers of this type take.
    pub(super) fn payload(&self, event_type: &str) -> String {
        let word = event_type.rsplit(['.', '/']).next().unwrap_or(event_type);
        let family = event_type.split('.').next().unwrap_or(event_type);
        let value = match (self, event_type) {
            (Self::Kudos, "subscription.upgraded") => json!({"tenant": "acme", "plan": "pro"}),
            (Self::Kudos, "subscription.replay_started") => json!({
                "since": "2026-01-01T00:00:00Z",
                "until": "2026-01-02T00:00:00Z",
                "event_type": "payment.succeeded",
            }),
            (Self::Kudos, "subscription.replay_completed") => json!({"events_emitted": 1}),
            (Self::Kudos, _) => json!({"tenant": "acme", "amount_cents": 1250, "currency": "EUR"}),
            (Self::Kallglot, "webhook_endpoint.disabled") => json!({
                "endpoint_id": "wh_01ABC",
                "url": "https://example.org/webhooks",
                "reason": "too_many_failures",
                "failed_events": 100,
            }),
            (Self::Kallglot, _) => {
                json!({"id": format!("{}_1", short(family)), "object": family, "status": word})
            }
            (Self::Apiera, _) => json!({"productUuid": "123e4567-e89b-12d3-a456-426614174001"}),
            (Self::Stripe, _) => {
                json!({"object": {"id": "pi_1", "object": family, "amount": 1250}})
            }
            // What is signed is all that tells two of these apart.
            (Self::GitHub, _) => {
                let repository = json!({"full_name": "acme/shop"});
                json!({"ref": "refs/heads/main", "after": "{id}", "repository": repository})
            }
            (Self::Shopify, _) => {
                json!({"id": 1, "admin_graphql_api_id": "{id}", "total_price": "12.50"})
            }
            (Self::Slack, _) => json!({"user": "U1", "channel": "C1", "text": "hello {n}"}),
            (Self::StandardWebhooks { .. } | Self::Other(_), _) => {
                json!({"id": "{id}", "n": "{n}"})
            }
        };
        value.to_string()
    }

    /// What it calls itself. What is not documented says who it really is.
    fn user_agent(&self) -> String {
        match self {
            Self::Stripe => "Stripe/1.0 (+https://stripe.com/docs/webhooks)",
            Self::GitHub => "GitHub-Hookshot/0000000",
            Self::Slack => "Slackbot 1.0 (+https://api.slack.com/robots)",
            Self::Shopify => "Shopify-Captain-Hook",
            Self::StandardWebhooks { svix: true } => {
                "Svix-Webhooks/1.0 (sender-9YMgn; +https://www.svix.com/http-sender/)"
            }
            _ => concat!("inbox-send/", env!("CARGO_PKG_VERSION")),
        }
        .to_owned()
    }

    /// Headers that no profile speaks of.
    fn extras(
        &self,
        event: &Event,
        attempt: u32,
        first_sent: Timestamp,
    ) -> Vec<(&'static str, String)> {
        let again = attempt > 1;
        match self {
            Self::Kudos if again => vec![
                ("x-kudos-original-event-id", event.id.clone()),
                ("x-kudos-first-sent-at", when::second(first_sent)),
            ],
            Self::Kallglot => vec![
                ("kallglot-webhook-id", format!("wh_del_{}", Token::fresh().as_str())),
                ("kallglot-original-timestamp", first_sent.secs().to_string()),
            ],
            Self::GitHub => vec![
                ("x-github-delivery", guid(&event.id)),
                ("x-github-hook-id", "1".into()),
                ("x-github-hook-installation-target-type", "repository".into()),
            ],
            Self::Slack if again => vec![
                ("x-slack-retry-num", (attempt - 1).to_string()),
                ("x-slack-retry-reason", "http_error".into()),
            ],
            Self::Shopify => vec![
                ("x-shopify-webhook-id", guid(&event.id)),
                ("x-shopify-event-id", guid(&event.id)),
                ("x-shopify-shop-domain", "acme.myshopify.com".into()),
                ("x-shopify-triggered-at", when::second(first_sent)),
            ],
            _ => vec![],
        }
    }

    /// Svix sends its own names for the headers of Standard Webhooks.
    fn rename(&self, headers: &mut [(HeaderName, String)]) {
        if let Self::StandardWebhooks { svix: true } = self {
            for (name, _) in headers {
                let svix =
                    name.as_str().strip_prefix("webhook-").map(|rest| format!("svix-{rest}"));
                if let Some(renamed) = svix.and_then(|name| name.parse().ok()) {
                    *name = renamed;
                }
            }
        }
    }

    /// How long after the first attempt this one comes, by the documented schedule.
    fn until_attempt(&self, attempt: u32) -> Duration {
        let pauses: &[u64] = match self {
            Self::Kudos => &[30, 120, 600, 1800, 3600],
            Self::Kallglot => &[60, 300, 1800, 7200, 18_000, 36_000, 86_400],
            Self::Apiera => &[30, 60, 300, 900, 1800, 3600, 7200, 14_400, 28_800, 86_400],
            Self::Slack => &[0, 60, 300],
            Self::StandardWebhooks { .. } => &[5, 300, 1800, 7200, 18_000, 36_000, 36_000],
            Self::Stripe | Self::GitHub | Self::Shopify | Self::Other(_) => &[],
        };
        let gone = pauses.iter().take(usize::try_from(attempt - 1).unwrap_or(usize::MAX));
        Duration::from_secs(gone.sum())
    }
}

fn short(family: &str) -> &str {
    match family {
        "session" => "sess",
        "recording" => "rec",
        "analysis" => "anl",
        other => other,
    }
}

/// A GUID that is the same for the same event.
fn guid(id: &str) -> String {
    use sha2::{Digest as _, Sha256};
    let digest = Sha256::digest(id.as_bytes());
    let hex: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    let [a, b, c, d, e] = [0..8, 8..12, 12..16, 16..20, 20..32].map(|range| &hex[range]);
    format!("{a}-{b}-{c}-{d}-{e}")
}
