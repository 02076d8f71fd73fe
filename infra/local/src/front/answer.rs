//! A function's response in payload format 2.0 as an HTTP response.

use axum::body::Body;
use base64::{Engine, prelude::BASE64_STANDARD};
use hyper::{
    Response, StatusCode,
    header::{
        CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, SET_COOKIE,
        TRANSFER_ENCODING,
    },
};
use serde_json::{Map, Value};

/// Turns the function's response into HTTP.
///
/// # Errors
/// Says what API Gateway would not understand; it would answer 500 then.
pub(super) fn answer(response: Value) -> Result<Response<Body>, String> {
    match response {
        Value::Object(fields) if fields.contains_key("statusCode") => formatted(fields),
        // Without a status code the whole response is the body of a 200.
        Value::String(text) => Ok(json(text)),
        other => Ok(json(other.to_string())),
    }
}

fn json(text: String) -> Response<Body> {
    let mut response = Response::new(Body::from(text));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn formatted(mut fields: Map<String, Value>) -> Result<Response<Body>, String> {
    let status = status(&fields)?;
    let mut headers = headers(&fields)?;
    let body = body(&mut fields)?;
    if !body.is_empty() && !headers.contains_key(CONTENT_TYPE) {
        let text = HeaderValue::from_static("text/plain;charset=UTF-8");
        headers.insert(CONTENT_TYPE, text);
    }
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    Ok(response)
}

fn status(fields: &Map<String, Value>) -> Result<StatusCode, String> {
    let code = match fields.get("statusCode") {
        Some(Value::String(text)) => text.parse().ok(),
        Some(number) => number.as_u64().and_then(|code| u16::try_from(code).ok()),
        None => None,
    };
    code.and_then(|code| StatusCode::from_u16(code).ok())
        .ok_or_else(|| format!("no HTTP status: {:?}", fields.get("statusCode")))
}

fn headers(fields: &Map<String, Value>) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in object(fields, "headers")? {
        if !value.is_null() {
            headers.insert(header_name(name)?, header_value(name, value)?);
        }
    }
    for (name, values) in object(fields, "multiValueHeaders")? {
        let name_ = header_name(name)?;
        // The list of a name replaces its single value, which repeats one of the list.
        headers.remove(&name_);
        for value in list(Some(values), name)? {
            headers.append(&name_, header_value(name, value)?);
        }
    }
    for cookie in list(fields.get("cookies"), "cookies")? {
        headers.append(SET_COOKIE, header_value("cookies", cookie)?);
    }
    // The connection is ours, and so is the length.
    for name in [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING] {
        headers.remove(name);
    }
    Ok(headers)
}

fn object<'a>(
    fields: &'a Map<String, Value>,
    name: &str,
) -> Result<impl Iterator<Item = (&'a String, &'a Value)>, String> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None.into_iter().flatten()),
        Some(Value::Object(entries)) => Ok(Some(entries).into_iter().flatten()),
        Some(_) => Err(format!("{name} is not an object")),
    }
}

fn list<'a>(value: Option<&'a Value>, name: &str) -> Result<&'a [Value], String> {
    match value {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(items)) => Ok(items),
        Some(_) => Err(format!("{name} is not a list")),
    }
}

fn header_name(name: &str) -> Result<HeaderName, String> {
    name.parse().map_err(|_| format!("no header name: {name:?}"))
}

fn header_value(name: &str, value: &Value) -> Result<HeaderValue, String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(_) | Value::Bool(_) => value.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => {
            return Err(format!("the header {name} is not text"));
        }
    };
    text.parse().map_err(|_| format!("the header {name} cannot be sent"))
}

fn body(fields: &mut Map<String, Value>) -> Result<Vec<u8>, String> {
    let encoded = fields.get("isBase64Encoded") == Some(&Value::Bool(true));
    match fields.remove("body") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::String(text)) if encoded => {
            BASE64_STANDARD.decode(text).map_err(|_| "the body is not base64".to_owned())
        }
        Some(Value::String(text)) => Ok(text.into_bytes()),
        Some(_) => Err("the body is not text".to_owned()),
    }
}
