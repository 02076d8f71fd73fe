//! From an HTTP event to the producer it is for.

use lambda_http::http::Method;
use lambda_http::{Body, Request};
use shared::limits::BODY_BYTES_MAX;
use shared::source::{Profile, Sources};

use crate::event::Target;
use crate::receive::Outcome;

const PREFIX: &str = "/webhooks/";

/// Finds the producer, and refuses what no producer sends.
///
/// # Errors
/// The outcome: unknown source, wrong method, a body too large or not known, a source that is gone.
pub fn route<'s>(sources: &'s Sources, request: &Request) -> Result<&'s Profile, Outcome> {
    let target = request.extensions().get::<Target>().ok_or(Outcome::UnknownSource)?;
    let profile = source_name(&target.path)
        .and_then(|name| sources.get(name))
        .ok_or(Outcome::UnknownSource)?;
    if request.method() != Method::POST {
        return Err(Outcome::WrongMethod);
    }
    if profile.contract.gone {
        return Err(Outcome::Gone);
    }
    if target.undecodable {
        return Err(Outcome::Undecodable);
    }
    if body_bytes(request.body()) > BODY_BYTES_MAX {
        return Err(Outcome::TooLarge);
    }
    Ok(profile)
}

/// `<source>` at the end of `…/webhooks/<source>`. What stands before is the door's: a named stage, or
/// the base path under which a domain name maps to the API
/// ([payload 1.0](https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html)).
fn source_name(path: &str) -> Option<&str> {
    let path = path.strip_suffix('/').unwrap_or(path);
    let (_, name) = path.rsplit_once(PREFIX)?;
    (!name.is_empty() && !name.contains('/')).then_some(name)
}

fn body_bytes(body: &Body) -> usize {
    match body {
        Body::Text(text) => text.len(),
        Body::Binary(bytes) => bytes.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_source_is_found_whatever_the_door_puts_before_it() {
        for (path, name) in [
            ("/webhooks/kudos", Some("kudos")),
            ("/webhooks/kudos/", Some("kudos")),
            ("/prod/webhooks/kudos", Some("kudos")),
            ("/hooks/v1/webhooks/kudos", Some("kudos")),
            ("/webhooks/webhooks/kudos", Some("kudos")),
            ("/webhooks/webhooks", Some("webhooks")),
            ("/webhooks/webhooks/", Some("webhooks")),
            ("/webhooks/", None),
            ("/webhooks", None),
            ("/webhooks//", None),
            ("/webhooks/a/b", None),
            ("webhooks/kudos", None),
            ("/mywebhooks/kudos", None),
            ("/", None),
            ("", None),
            ("/WEBHOOKS/kudos", None),
        ] {
            assert_eq!(source_name(path), name, "{path}");
        }
    }
}
