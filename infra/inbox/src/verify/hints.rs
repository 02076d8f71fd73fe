//! What is odd about a request that no mistake explains.

use shared::signature::Scheme;

use super::capture::Capture;

/// Remarks for a person, the most telling first.
pub(super) fn hints(
    scheme: &Scheme,
    capture: &Capture,
    any_digest: bool,
    gave_up: bool,
) -> Vec<String> {
    let mut hints = vec![];
    let expected = &scheme.header;
    if !any_digest {
        let names: Vec<&str> = capture.headers.iter().map(|(name, _)| name.as_str()).collect();
        hints.push(format!(
            "no header holds a signature; expected {expected}, there are: {}",
            names.join(", ")
        ));
    }
    hints.extend(length(capture));
    if capture.body.is_empty() {
        hints.push("the body is empty: was it read before it was captured?".into());
    }
    if str::from_utf8(&capture.body).is_ok_and(|text| text.contains('\u{fffd}')) {
        hints.push(
            "the body holds U+FFFD: it went through something that reads text; the bytes that were \
             signed cannot be had back"
                .into(),
        );
    }
    if str::from_utf8(&capture.body).is_err() {
        hints.push("the body is not UTF-8: is it compressed, or another file?".into());
    }
    hints.extend(
        cut_off(&capture.body).then(|| {
            "the body's JSON has no end: it was cut off; logs and terminals do that".into()
        }),
    );
    for (name, value) in &capture.headers {
        let sha1 = value.rsplit('=').next().is_some_and(|digest| {
            digest.len() == 40 && digest.bytes().all(|b| b.is_ascii_hexdigit())
        });
        if sha1 {
            hints.push(format!("{name} holds 40 hex digits, as SHA-1 has; {expected} is SHA-256"));
        }
        let md5 =
            |digest: &str| digest.len() == 32 && digest.bytes().all(|b| b.is_ascii_hexdigit());
        if name.eq_ignore_ascii_case(expected.as_str()) && value.rsplit('=').next().is_some_and(md5)
        {
            hints.push(format!("{name} holds 32 hex digits, as MD5 has; {expected} is SHA-256"));
        }
        if name.eq_ignore_ascii_case("content-encoding") {
            hints.push(format!("the request said content-encoding: {value}"));
        }
    }
    if gave_up {
        hints.push("not everything was tried: the body is too large for that".into());
    }
    hints.push(
        "the usual rest: a secret that is not known here, or a body that was changed in a way that \
         cannot be undone; capture the raw bytes, and compare the secrets by their fingerprints"
            .into(),
    );
    hints
}

/// JSON that ends too early.
fn cut_off(body: &[u8]) -> bool {
    let read = serde_json::from_slice::<serde::de::IgnoredAny>(body);
    body.starts_with(b"{") && read.is_err_and(|error| error.is_eof())
}

/// The body's length against what the request said.
fn length(capture: &Capture) -> Option<String> {
    let said: usize = capture.values("content-length").next()?.trim().parse().ok()?;
    let is = capture.body.len();
    (said != is).then(|| format!("the request said content-length: {said}, the body here has {is}"))
}
