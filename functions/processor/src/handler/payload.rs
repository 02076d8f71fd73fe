//! From a body to the type that a handler asks for. An error names the place, never the value.

use serde::de::DeserializeOwned;
use shared::envelope;
use shared::source::Profile;

use super::HandlerError;

/// The payload field of a body, or the whole of it, as a `T`.
///
/// # Errors
/// It is not there, or does not fit: permanent, since the bytes will not change.
pub(super) fn read<T: DeserializeOwned>(body: &[u8], profile: &Profile) -> Result<T, HandlerError> {
    let (json, place) = match &profile.event.payload {
        None => (std::str::from_utf8(body).ok(), ""),
        Some(field) => {
            let found = envelope::fields(body, &[std::slice::from_ref(field)]);
            let found = found.ok().and_then(|mut found| found.pop().flatten());
            (found.map(serde_json::value::RawValue::get), field.as_str())
        }
    };
    let json = json.ok_or_else(|| HandlerError::permanent(format!("payload: no {place}")))?;
    let mut json = serde_json::Deserializer::from_str(json);
    serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        let path = match (place, path.as_str()) {
            ("", ".") => "the body".to_owned(),
            (place, ".") => place.to_owned(),
            ("", path) => path.to_owned(),
            (place, path) => format!("{place}.{path}"),
        };
        HandlerError::permanent(format!("payload: {path}: {}", reason(&error.into_inner())))
    })
}

/// What of serde's message comes from our own types: a missing field's name, or what was expected.
/// The rest quotes the payload, and so may any other message, written by a type of the handler's.
fn reason(error: &serde_json::Error) -> String {
    let message = error.to_string();
    if let Some(field) = message.strip_prefix("missing field `")
        && let Some((field, _)) = field.split_once('`')
    {
        return format!("field {field} is missing");
    }
    const SERDES_OWN: [&str; 5] = [
        "invalid type: ",
        "invalid value: ",
        "invalid length ",
        "unknown variant ",
        "unknown field ",
    ];
    let own = SERDES_OWN.iter().any(|start| message.starts_with(start));
    let expected = message.rsplit_once(", expected ").filter(|_| own).map(|(_, expected)| expected);
    let expected = expected.map(|text| text.split(" at line ").next().unwrap_or(text));
    match expected {
        Some(expected) => format!("is not {expected}"),
        None => "does not fit".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use shared::source::Sources;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only the errors of reading it matter")]
    struct Payment {
        amount: i64,
        card: Card,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only the errors of reading it matter")]
    struct Card {
        brand: Brand,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Brand {
        Visa,
        Amex,
    }

    #[test]
    fn an_error_names_the_place_and_never_the_value() {
        let sources = Sources::builtin().unwrap();
        let kudos = sources.get("kudos").unwrap();
        for (data, why) in [
            (r#"{"amount":"hunter2"}"#, "payload: data.amount: is not i64"),
            (r#"{"amount":1}"#, "payload: data: field card is missing"),
            (
                r#"{"amount":1,"card":{"brand":"hunter2, expected x at line 9"}}"#,
                "payload: data.card.brand: is not `visa` or `amex`",
            ),
            (r#"{"amount":12345678901234567890}"#, "payload: data.amount: is not i64"),
            ("7", "payload: data: is not struct Payment"),
        ] {
            let body = format!(r#"{{"event_id":"a","data":{data}}}"#);
            let error = read::<Payment>(body.as_bytes(), kudos).unwrap_err().to_string();
            assert_eq!(error, why);
        }
        let none = read::<Payment>(b"{}", kudos).unwrap_err();
        assert_eq!(none, HandlerError::permanent("payload: no data"));
    }

    #[test]
    fn without_a_payload_field_the_whole_body_is_read() {
        let sources = Sources::builtin().unwrap();
        let apiera = sources.get("apiera").unwrap();
        #[derive(Deserialize)]
        struct Thin {
            n: u8,
        }
        assert_eq!(read::<Thin>(br#"{"n":1}"#, apiera).unwrap().n, 1);
        let error = read::<Thin>(b"{}", apiera).err().unwrap().to_string();
        assert_eq!(error, "payload: the body: field n is missing");
    }
}
