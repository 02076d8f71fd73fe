//! The three producers as their own pages describe them: when each delivers again, what ends a
//! delivery, and what it takes for an endpoint to be given up.

use std::time::Duration;

use shared::limits::{ATTEMPTS_MAX, ATTEMPTS_MAX_ORDERED};

const fn s(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// A producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Producer {
    Kudos,
    Kallglot,
    Apiera,
}

/// What a producer hears: nothing at all where the connection fails or its timeout passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Heard {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<Duration>,
}

/// What a producer does with an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Delivered,
    /// It delivers again after this.
    Again(Duration),
    /// It never delivers this again, and tells its owner.
    Terminal {
        pauses: bool,
    },
    /// It has delivered as often as it ever does.
    GivenUp,
}

impl Producer {
    pub(crate) const ALL: [Self; 3] = [Self::Kudos, Self::Kallglot, Self::Apiera];

    pub(crate) const fn source(self) -> &'static str {
        match self {
            Self::Kudos => "kudos",
            Self::Kallglot => "kallglot",
            Self::Apiera => "apiera",
        }
    }

    /// How often the product may try one event of it.
    pub(crate) const fn attempts_max(self) -> u32 {
        match self {
            Self::Kudos => ATTEMPTS_MAX_ORDERED,
            Self::Kallglot | Self::Apiera => ATTEMPTS_MAX,
        }
    }

    /// The delay before each attempt in seconds, the first one's included.
    const fn delays(self) -> &'static [u64] {
        match self {
            Self::Kudos => &[0, 30, 120, 600, 1800, 3600],
            Self::Kallglot => &[0, 60, 300, 1800, 7200, 18_000, 36_000, 86_400],
            Self::Apiera => &[0, 30, 60, 300, 900, 1800, 3600, 7200, 14_400, 28_800, 86_400],
        }
    }

    /// How long it waits for an answer.
    pub(crate) const fn timeout(self) -> Duration {
        match self {
            Self::Kudos => s(8),
            Self::Kallglot => s(30),
            Self::Apiera => s(10),
        }
    }

    /// Either way, as a part of the delay. Kallglot says "with jitter" and not how much.
    const fn jitter(self) -> f64 {
        match self {
            Self::Kudos => 0.25,
            Self::Kallglot => 0.1,
            Self::Apiera => 0.0,
        }
    }

    /// The verdict over the answer to attempt number `attempt`, from 1. `random` is from 0 up to 1.
    pub(crate) fn verdict(self, attempt: usize, heard: Option<Heard>, random: f64) -> Verdict {
        let status = heard.map_or(0, |heard| heard.status);
        let again = match (self, status) {
            (_, 200..=299) => return Verdict::Delivered,
            (_, 0 | 429 | 500..=599) | (Self::Kudos, 408) | (Self::Kallglot, _) => true,
            _ => false,
        };
        if !again {
            return Verdict::Terminal { pauses: self == Self::Kudos && status == 410 };
        }
        let Some(delay) = self.delays().get(attempt) else { return Verdict::GivenUp };
        let asked = heard.filter(|heard| self == Self::Kudos && heard.status == 429);
        Verdict::Again(match asked.and_then(|heard| heard.retry_after) {
            Some(after) => after.min(s(3600)),
            None => s(*delay).mul_f64(1.0 + self.jitter() * (2.0 * random - 1.0)),
        })
    }
}

/// What a producer thinks of our endpoint as a whole.
#[derive(Clone, Debug, Default)]
pub(crate) struct Endpoint {
    failed_in_a_row: u32,
    failing_since_ms: Option<i64>,
}

impl Endpoint {
    /// Notes the end of an attempt; the text says that the endpoint is given up.
    pub(crate) fn note(
        &mut self,
        producer: Producer,
        verdict: Verdict,
        now_ms: i64,
    ) -> Option<&'static str> {
        const WEEK_MS: i64 = 7 * 86_400_000;
        if verdict == Verdict::Delivered {
            *self = Self::default();
            return None;
        }
        let since = *self.failing_since_ms.get_or_insert(now_ms);
        self.failed_in_a_row += 1;
        match (producer, verdict) {
            (Producer::Kudos, Verdict::Terminal { pauses: true }) => Some("subscription paused"),
            (Producer::Kallglot, _) if self.failed_in_a_row >= 100 => Some("endpoint disabled"),
            (Producer::Kallglot, _) if now_ms - since >= WEEK_MS => Some("endpoint disabled"),
            // "Consistently fails" has no number: a delivery that failed for good is one too many.
            (Producer::Apiera, Verdict::GivenUp | Verdict::Terminal { .. }) => {
                Some("subscription suspended")
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(status: u16) -> Option<Heard> {
        Some(Heard { status, retry_after: None })
    }

    #[test]
    fn attempts_come_when_the_tables_say() {
        // The cumulative columns of the three pages, in seconds.
        for (producer, cumulative) in [
            (Producer::Kudos, &[0, 30, 150, 750, 2550, 6150][..]),
            (Producer::Kallglot, &[0, 60, 360, 2160, 9360, 27_360, 63_360, 149_760]),
            (
                Producer::Apiera,
                &[0, 30, 90, 390, 1290, 3090, 6690, 13_890, 28_290, 57_090, 143_490],
            ),
        ] {
            let mut at = Duration::ZERO;
            let mut seen = vec![0];
            while let Verdict::Again(delay) = producer.verdict(seen.len(), heard(503), 0.5) {
                at += delay;
                seen.push(at.as_secs());
            }
            assert_eq!(seen, cumulative, "{producer:?}");
        }
    }

    #[test]
    fn each_answer_means_what_the_page_says() {
        use Producer::{Apiera, Kallglot, Kudos};
        let means = |producer: Producer, status| match producer.verdict(1, heard(status), 0.5) {
            Verdict::Delivered => "delivered",
            Verdict::Again(_) => "again",
            Verdict::Terminal { pauses: false } => "terminal",
            Verdict::Terminal { pauses: true } => "paused",
            Verdict::GivenUp => "given up",
        };
        for (status, kudos, kallglot, apiera) in [
            (200, "delivered", "delivered", "delivered"),
            (204, "delivered", "delivered", "delivered"),
            (301, "terminal", "again", "terminal"),
            (400, "terminal", "again", "terminal"),
            (401, "terminal", "again", "terminal"),
            (408, "again", "again", "terminal"),
            (410, "paused", "again", "terminal"),
            (429, "again", "again", "again"),
            (500, "again", "again", "again"),
            (503, "again", "again", "again"),
        ] {
            let said = [Kudos, Kallglot, Apiera].map(|producer| means(producer, status));
            assert_eq!(said, [kudos, kallglot, apiera], "{status}");
        }
        for producer in Producer::ALL {
            assert!(matches!(producer.verdict(1, None, 0.5), Verdict::Again(_)));
        }
    }

    #[test]
    fn kudos_jitters_by_a_quarter_and_honours_retry_after_on_429_up_to_an_hour() {
        for (random, secs) in [(0.0, 450), (0.5, 600), (1.0, 750)] {
            assert_eq!(Producer::Kudos.verdict(3, None, random), Verdict::Again(s(secs)));
        }
        for (status, asked, secs) in [(429, 45, 45), (429, 90_000, 3600), (503, 45, 30)] {
            let heard = Some(Heard { status, retry_after: Some(s(asked)) });
            assert_eq!(Producer::Kudos.verdict(1, heard, 0.5), Verdict::Again(s(secs)));
        }
        let last = Some(Heard { status: 429, retry_after: Some(s(1)) });
        assert_eq!(Producer::Kudos.verdict(6, last, 0.5), Verdict::GivenUp);
    }

    #[test]
    fn an_endpoint_is_given_up_as_the_page_says() {
        let again = Verdict::Again(s(60));
        let mut endpoint = Endpoint::default();
        for _ in 0..99 {
            assert_eq!(endpoint.note(Producer::Kallglot, again, 0), None);
        }
        endpoint.note(Producer::Kallglot, Verdict::Delivered, 0);
        for _ in 0..99 {
            assert_eq!(endpoint.note(Producer::Kallglot, again, 0), None);
        }
        assert_eq!(endpoint.note(Producer::Kallglot, again, 0), Some("endpoint disabled"));
        let mut endpoint = Endpoint::default();
        endpoint.note(Producer::Kallglot, again, 0);
        let week = 7 * 86_400_000;
        assert_eq!(endpoint.note(Producer::Kallglot, again, week - 1), None);
        assert_eq!(endpoint.note(Producer::Kallglot, again, week), Some("endpoint disabled"));
        let gone = Verdict::Terminal { pauses: true };
        let paused = Endpoint::default().note(Producer::Kudos, gone, 0);
        assert_eq!(paused, Some("subscription paused"));
    }
}
