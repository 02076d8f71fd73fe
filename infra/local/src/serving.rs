//! One HTTP/1 accept loop for everything that this crate serves.
//!
//! The connections belong to the loop: dropping its future closes them with the listener, so that
//! a stopped server leaves neither a port nor a half-answered request behind.

use std::{convert::Infallible, error::Error, net::SocketAddr, time::Duration};

use hyper::{
    Request, Response,
    body::{Body, Incoming},
    server::conn::http1,
    service::Service,
};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpListener, task::JoinSet};

/// How long to wait when accepting fails, as it does when the process runs out of file handles.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Accepts connections until the future is dropped; `service` is asked for one service for each
/// connection, and is told the peer's address.
pub(crate) async fn accept<S, B>(listener: TcpListener, service: impl Fn(SocketAddr) -> S)
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + Send + 'static,
    S::Future: Send,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    // Answers are small and written once: waiting to fill a packet only adds time.
                    let _ = stream.set_nodelay(true);
                    let connection =
                        http1::Builder::new().serve_connection(TokioIo::new(stream), service(peer));
                    connections.spawn(async move {
                        if let Err(error) = connection.await {
                            tracing::debug!(%peer, %error, "connection ended early");
                        }
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
            // Finished connections are taken out as they end, or the set would grow for ever.
            Some(_) = connections.join_next() => {}
        }
    }
}
