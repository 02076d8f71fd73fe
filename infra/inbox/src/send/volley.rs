//! Deliveries on their way: how many a second, how many at once, and what was answered.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream;
use http::StatusCode;
use shared::source::Profile;
use tokio::time::Instant;

use super::producer::Sender;
use crate::context::Context;
use crate::exit::Failure;

/// How deliveries are sent.
pub(super) struct Volley {
    pub(super) count: u32,
    pub(super) rate: Option<u32>,
    pub(super) concurrency: usize,
    pub(super) client: reqwest::Client,
    pub(super) url: reqwest::Url,
}

/// What was answered.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub(super) answers: BTreeMap<u16, u32>,
    pub(super) unanswered: BTreeMap<&'static str, u32>,
    pub(super) latencies: Vec<Duration>,
    pub(super) took: Duration,
    /// Stopped before all were sent.
    pub(super) interrupted: bool,
}

/// One delivery's end.
type Answered = (Result<StatusCode, &'static str>, Duration);

/// A client as patient as the producer, that follows no redirect.
pub(super) fn client(profile: &Profile, url: &reqwest::Url) -> Result<reqwest::Client, Failure> {
    // Another call of this process may have done it; then that one stands.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .timeout(profile.contract.timeout);
    let here =
        url.host_str().is_some_and(|host| matches!(host, "127.0.0.1" | "localhost" | "[::1]"));
    let client = if here { client.no_proxy() } else { client };
    client.build().map_err(|error| {
        Failure::unreachable(
            format!("no HTTP client: {error}"),
            "look at the system's certificates",
        )
    })
}

impl Volley {
    /// Sends all of them, or as many as an interrupt lets.
    pub(super) async fn fire(&self, sender: &Sender<'_>, context: &Context) -> Tally {
        let began = Instant::now();
        let mut progress = context.console.progress("sending", Some(u64::from(self.count)));
        let shots = stream::iter(1..=self.count).map(|n| async move {
            if let Some(rate) = self.rate {
                let at = Duration::from_secs(1) * (n - 1) / rate;
                tokio::time::sleep_until(began + at).await;
            }
            self.shot(sender, n, context).await
        });
        let mut answers = std::pin::pin!(shots.buffer_unordered(self.concurrency));
        let mut tally = Tally::default();
        let mut interrupt = std::pin::pin!(tokio::signal::ctrl_c());
        loop {
            tokio::select! {
                answer = answers.next() => match answer {
                    Some(answer) => tally.add(answer),
                    None => break,
                },
                _ = &mut interrupt => {
                    tally.interrupted = true;
                    break;
                }
            }
            progress.step(1);
        }
        progress.clear();
        tally.took = began.elapsed();
        tally
    }

    async fn shot(&self, sender: &Sender<'_>, n: u32, context: &Context) -> Answered {
        let delivery = sender.delivery(n, context.now());
        let mut request = self.client.post(self.url.clone()).body(delivery.body);
        for (name, value) in delivery.headers {
            request = request.header(name, value);
        }
        let sent = Instant::now();
        let answer = async {
            let answer = request.send().await?;
            let status = answer.status();
            // A producer reads the answer before it is content.
            answer.bytes().await.map(|_| status)
        };
        let answer = answer.await.map_err(|error| match error {
            error if error.is_timeout() => "no answer in time",
            error if error.is_connect() => "no connection",
            _ => "the connection broke",
        });
        (answer, sent.elapsed())
    }
}

impl Tally {
    fn add(&mut self, (answer, took): Answered) {
        match answer {
            Ok(status) => {
                *self.answers.entry(status.as_u16()).or_default() += 1;
                self.latencies.push(took);
            }
            Err(why) => *self.unanswered.entry(why).or_default() += 1,
        }
    }

    /// How many were answered with a status for which this holds.
    pub(super) fn count(&self, holds: impl Fn(u16) -> bool) -> u32 {
        self.answers.iter().filter(|(status, _)| holds(**status)).map(|(_, count)| count).sum()
    }

    /// How many came to an end.
    pub(super) fn sent(&self) -> u32 {
        self.count(|_| true) + self.unanswered.values().sum::<u32>()
    }

    /// The answer time that this share of the answers (in thousandths) did not exceed.
    pub(super) fn quantile(&self, thousandths: usize) -> Option<Duration> {
        let mut sorted = self.latencies.clone();
        sorted.sort_unstable();
        let rank = (sorted.len() * thousandths).div_ceil(1000).saturating_sub(1);
        sorted.get(rank).copied()
    }
}
