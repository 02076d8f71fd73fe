//! Any bytes as the headers of a signature, for every scheme: refused, never a panic.
//!
//! Lines of the input are header values: the signature's, the time's, the id's.
#![no_main]

use std::sync::LazyLock;

use http::{HeaderMap, HeaderValue};
use libfuzzer_sys::fuzz_target;
use shared::secret::{Secret, SecretRule};
use shared::signature::{Part, Raw, TimestampAt, verify};
use shared::source::Sources;
use shared::time::Timestamp;

static SOURCES: LazyLock<Sources> = LazyLock::new(|| {
    let presets = ["svix", "stripe", "github", "slack", "shopify"];
    let tables: String = presets.iter().map(|p| format!("[{p}]\npreset = \"{p}\"\n")).collect();
    Sources::parse(&format!("{}\n{tables}", include_str!("../../infra/sources.toml"))).unwrap()
});

fuzz_target!(|data: &[u8]| {
    let mut lines = data.split(|byte| *byte == b'\n');
    let mut next = || HeaderValue::from_bytes(lines.next().unwrap_or_default());
    let (Ok(signature), Ok(time), Ok(id)) = (next(), next(), next()) else { return };
    for profile in SOURCES.iter() {
        let scheme = &profile.scheme;
        let mut headers = HeaderMap::new();
        headers.append(scheme.header.clone(), signature.clone());
        if let Some(TimestampAt::Header(name)) = &scheme.timestamp {
            headers.append(name.clone(), time.clone());
        }
        for part in &scheme.signed {
            if let Part::Header(name) = part {
                headers.append(name.clone(), id.clone());
            }
        }
        let secret = Secret::decode("c2VjcmV0", SecretRule::Base64).unwrap();
        let raw = Raw { headers, body: data.to_vec().into() };
        let now = Timestamp::from_secs(1_800_000_000);
        assert!(verify(scheme, &[secret], &raw, now).is_err(), "{}", profile.name);
    }
});
