//! The HTTP front door: what an HTTP API of API Gateway does before and behind the ingress
//! function. A request becomes one event in payload format 2.0, the function's response becomes
//! the HTTP response, and AWS's size limits hold.

mod answer;
mod event;

use std::{
    convert::Infallible,
    future::Future,
    io,
    net::{SocketAddr, TcpListener as StdListener},
    time::SystemTime,
};

use axum::body::Body;
use futures_util::StreamExt;
use hyper::{
    Request, Response, StatusCode,
    body::Incoming,
    header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue},
    service::service_fn,
};
use serde_json::Value;
use tokio::{net::TcpListener, sync::watch};

use crate::serving;

/// The largest body that API Gateway takes, in bytes.
pub const BODY_BYTES_MAX: usize = 10 * 1024 * 1024;
/// The largest event that Lambda takes in a synchronous invocation, in bytes of JSON.
pub const EVENT_BYTES_MAX: usize = 6 * 1024 * 1024;
/// How much of a body that is too large is read so that the client gets to see the answer; a
/// connection that is closed on a client in mid-sentence resets, and the answer is lost.
const DRAIN_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A bound, not yet serving front door.
#[derive(Debug)]
pub struct Front {
    listener: TcpListener,
    address: SocketAddr,
}

impl Front {
    /// Binds `addr`; port 0 lets the system choose. Needs a Tokio runtime.
    ///
    /// # Errors
    /// The address cannot be bound.
    pub fn bind(addr: SocketAddr) -> io::Result<Self> {
        let listener = StdListener::bind(addr)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Self { listener: TcpListener::from_std(listener)?, address })
    }

    /// The address that is listened on, with the port that the system chose.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Serves requests until the future is dropped, which also ends the invocations that are
    /// under way. A client that goes away ends none: Lambda would not notice either.
    ///
    /// `invoke` is given the event and answers with the function's response, or with the text of
    /// a function error, which the client sees as 500. A panic of it is a function error.
    pub async fn serve<F, Fut>(self, invoke: F)
    where
        F: Fn(Value) -> Fut + Clone + Send + 'static,
        Fut: Future<Output = Result<Value, String>> + Send + 'static,
    {
        let (_alive, stopped) = watch::channel(());
        let service = |peer| {
            let (invoke, stopped) = (invoke.clone(), stopped.clone());
            service_fn(move |request| {
                let (invoke, stopped) = (invoke.clone(), stopped.clone());
                async move { Ok::<_, Infallible>(respond(request, peer, invoke, stopped).await) }
            })
        };
        serving::accept(self.listener, service).await;
    }
}

async fn respond<F, Fut>(
    request: Request<Incoming>,
    peer: SocketAddr,
    invoke: F,
    mut stopped: watch::Receiver<()>,
) -> Response<Body>
where
    F: Fn(Value) -> Fut + Send + 'static,
    Fut: Future<Output = Result<Value, String>> + Send + 'static,
{
    let (parts, body) = request.into_parts();
    let body = match collect(body, &parts.headers).await {
        Ok(Some(body)) => body,
        Ok(None) => return too_large(),
        Err(error) => {
            tracing::debug!(%peer, %error, "the client did not send its whole body");
            return message(StatusCode::BAD_REQUEST, "Bad Request");
        }
    };
    let event = event::event(&parts, peer, body, now_ms());
    if event_bytes(&event) > EVENT_BYTES_MAX {
        return too_large();
    }
    let invocation = tokio::spawn(async move {
        tokio::select! {
            response = invoke(event) => response,
            _ = stopped.changed() => Err("the front door was closed".to_owned()),
        }
    });
    let response = invocation.await.unwrap_or_else(|error| Err(error.to_string()));
    response.and_then(answer::answer).unwrap_or_else(|error| {
        tracing::warn!(error, "the function failed");
        message(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error")
    })
}

/// Reads the body; `None` when it is larger than [`BODY_BYTES_MAX`].
async fn collect(body: Incoming, headers: &HeaderMap) -> Result<Option<Vec<u8>>, axum::Error> {
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    let mut collected = Vec::with_capacity(length.unwrap_or(0).min(BODY_BYTES_MAX));
    let mut bytes: usize = 0;
    let mut chunks = Body::new(body).into_data_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk?;
        bytes += chunk.len();
        if bytes <= BODY_BYTES_MAX {
            collected.extend_from_slice(&chunk);
        } else if bytes > DRAIN_BYTES_MAX {
            break;
        }
    }
    Ok((bytes <= BODY_BYTES_MAX).then_some(collected))
}

/// The event's size as JSON, without writing it down.
fn event_bytes(event: &Value) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Neither the writer nor a `Value` can fail; if one did, the event would not be sendable.
    serde_json::to_writer(&mut count, event).map_or(usize::MAX, |()| count.0)
}

#[expect(clippy::disallowed_methods, reason = "stands in for API Gateway, whose clock this is")]
fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn too_large() -> Response<Body> {
    message(StatusCode::PAYLOAD_TOO_LARGE, "Request Entity Too Large")
}

/// An answer of API Gateway's own.
fn message(status: StatusCode, text: &str) -> Response<Body> {
    let body = serde_json::json!({ "message": text }).to_string();
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

#[cfg(test)]
mod tests;
