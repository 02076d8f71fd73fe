//! Any bytes as a body: an envelope or a reason, never a panic, and never other fields than a full
//! parse sees.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value};
use shared::envelope;

fuzz_target!(|data: &[u8]| {
    let paths = [vec!["id".to_owned()], vec!["event".to_owned(), "type".to_owned()]];
    let found = envelope::fields(data, &[&paths[0], &paths[1]]);
    let Ok(found) = found else { return };
    for value in found.iter().copied().flatten() {
        let _ = envelope::text(value);
        let _ = envelope::time(value);
    }
    if let Ok(full) = serde_json::from_slice::<Map<String, Value>>(data) {
        let id = found[0].map(|raw| serde_json::from_str::<Value>(raw.get()).unwrap());
        assert_eq!(id.as_ref(), full.get("id"));
    }
});
