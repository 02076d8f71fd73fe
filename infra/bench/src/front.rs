//! Endpoints before the embedded services: they speak TLS as AWS does, and count what passes.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::{io, net};

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::serve::{Listener, ListenerExt as _};
use bytes::Bytes;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::meter::Meter;

/// One endpoint before one service. Dropping it closes it.
pub struct Front {
    url: String,
    _task: JoinSet<()>,
}

/// Where requests go on to, and who counts them.
#[derive(Clone)]
struct Way {
    upstream: Arc<str>,
    http: reqwest::Client,
    meter: Arc<Meter>,
}

impl Front {
    /// Serves before `upstream`, with TLS if it is told how.
    ///
    /// # Errors
    /// No loopback port can be had.
    pub async fn start(
        upstream: &str,
        tls: Option<Arc<ServerConfig>>,
        meter: Arc<Meter>,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        // An error says that somebody has installed one already; without one no client is made.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().no_proxy().build().map_err(io::Error::other)?;
        let way = Way { upstream: upstream.into(), http, meter };
        let service =
            Router::new().fallback(pass).layer(DefaultBodyLimit::disable()).with_state(way);
        let mut task = JoinSet::new();
        let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
        let url = match tls {
            None => {
                task.spawn(async { drop(axum::serve(listener, service).await) });
                format!("http://localhost:{port}")
            }
            Some(config) => {
                let listener = TlsListener { inner: listener, acceptor: config.into() };
                task.spawn(async { drop(axum::serve(listener, service).await) });
                format!("https://localhost:{port}")
            }
        };
        Ok(Self { url, _task: task })
    }

    /// Its address, without a trailing slash.
    pub fn url(&self) -> &str {
        &self.url
    }
}

async fn pass(State(way): State<Way>, head: Parts, body: Bytes) -> Response {
    let target = head.headers.get("x-amz-target").and_then(|value| value.to_str().ok());
    let operation = target.and_then(|target| target.rsplit('.').next()).unwrap_or("?").to_owned();
    let asked = way.meter.ask(&operation, body);
    let call = way.http.request(head.method, format!("{}{}", way.upstream, head.uri.path()));
    let answer = call.headers(passed_on(head.headers)).body(asked.clone()).send().await;
    let Ok(answer) = answer else { return StatusCode::BAD_GATEWAY.into_response() };
    let (status, headers) = (answer.status(), answer.headers().clone());
    let Ok(body) = answer.bytes().await else { return StatusCode::BAD_GATEWAY.into_response() };
    way.meter.note(&operation, &asked, status.as_u16(), &body);
    (status, passed_on(headers), Body::from(body)).into_response()
}

/// Without what belongs to one connection, or is made anew.
fn passed_on(mut headers: HeaderMap) -> HeaderMap {
    for name in
        [header::HOST, header::CONTENT_LENGTH, header::TRANSFER_ENCODING, header::CONNECTION]
    {
        headers.remove(name);
    }
    headers
}

/// Accepts TLS connections, one handshake after the other.
struct TlsListener<L> {
    inner: L,
    acceptor: TlsAcceptor,
}

impl<L: Listener<Io = TcpStream, Addr = SocketAddr>> Listener for TlsListener<L> {
    type Io = TlsStream<TcpStream>;
    type Addr = net::SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let (stream, peer) = self.inner.accept().await;
            // Who does not finish the handshake is no function of ours.
            if let Ok(stream) = self.acceptor.accept(stream).await {
                return (stream, peer);
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.inner.local_addr()
    }
}
