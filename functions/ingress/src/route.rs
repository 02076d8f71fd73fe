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
    let name = source_name(&target.path, target.stage.as_deref());
    let profile = name.and_then(|name| sources.get(name)).ok_or(Outcome::UnknownSource)?;
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

/// `<source>` of `/webhooks/<source>`. HTTP APIs put a named stage in front of the path, other doors
/// leave it out, and a stage may itself be called `webhooks`: the path is read as it is first, then
/// without the stage.
fn source_name<'p>(path: &'p str, stage: Option<&str>) -> Option<&'p str> {
    let direct = |path: &'p str| {
        let name = path.strip_prefix(PREFIX)?;
        let name = name.strip_suffix('/').unwrap_or(name);
        (!name.is_empty() && !name.contains('/')).then_some(name)
    };
    direct(path).or_else(|| {
        let rest = path.strip_prefix('/')?.strip_prefix(stage?)?;
        direct(rest)
    })
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
    fn the_source_is_found_with_and_without_a_stage() {
        for (path, stage, name) in [
            ("/webhooks/kudos", None, Some("kudos")),
            ("/webhooks/kudos", Some("$default"), Some("kudos")),
            ("/prod/webhooks/kudos", Some("prod"), Some("kudos")),
            ("/webhooks/kudos", Some("prod"), Some("kudos")),
            ("/webhooks/webhooks/kudos", Some("webhooks"), Some("kudos")),
            ("/webhooks/kudos", Some("webhooks"), Some("kudos")),
            ("/webhooks/kudos/", None, Some("kudos")),
            ("/prod/webhooks/kudos", None, None),
            ("/prodigal/webhooks/kudos", Some("prod"), None),
            ("/webhooks/", None, None),
            ("/webhooks", None, None),
            ("/webhooks/a/b", None, None),
            ("/", None, None),
            ("", None, None),
            ("/WEBHOOKS/kudos", None, None),
        ] {
            assert_eq!(source_name(path, stage), name, "{path} {stage:?}");
        }
    }
}
