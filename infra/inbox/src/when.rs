//! Times as people say and read them.

use std::time::Duration;

use aws_smithy_types::date_time::{DateTime, Format};
use shared::time::Timestamp;

/// A moment on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// This long ago.
    Ago(Duration),
    /// A date.
    At(Timestamp),
}

impl Moment {
    /// `90s`, `30m`, `24h`, `7d`; `2026-11-30`, `2026-11-30T16:02:51Z`.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        if let Ok(ago) = duration(text) {
            return Ok(Self::Ago(ago));
        }
        let full = if text.len() == 10 { format!("{text}T00:00:00Z") } else { text.to_owned() };
        let date = DateTime::from_str(&full, Format::DateTimeWithOffset);
        let millis = date.ok().and_then(|date| date.to_millis().ok());
        millis.map(|millis| Self::At(Timestamp::from_millis(millis))).ok_or(
            "expected a time ago, as in 30m, 24h or 7d, or a date, as in 2026-11-30T16:00:00Z",
        )
    }

    /// The moment itself.
    pub(crate) fn at(self, now: Timestamp) -> Timestamp {
        match self {
            Self::Ago(ago) => now.minus(ago),
            Self::At(at) => at,
        }
    }
}

/// A length of time: `90s`, `30m`, `24h`, `7d`.
pub(crate) fn duration(text: &str) -> Result<Duration, &'static str> {
    const BAD: &str = "expected a length of time, as in 90s, 30m, 24h or 7d";
    let (digits, secs) = [("s", 1), ("m", 60), ("h", 3600), ("d", 86_400)]
        .into_iter()
        .find_map(|(unit, secs)| Some((text.strip_suffix(unit)?, secs)))
        .ok_or(BAD)?;
    // `parse` would take a plus sign.
    let number = digits.parse().ok().filter(|_| digits.bytes().all(|b| b.is_ascii_digit()));
    number.and_then(|number: u64| number.checked_mul(secs)).map(Duration::from_secs).ok_or(BAD)
}

/// RFC 3339 in UTC, to the millisecond.
pub(crate) fn date(at: Timestamp) -> String {
    let millis = at.millis().rem_euclid(1_000);
    format!("{}.{millis:03}Z", second(at).trim_end_matches('Z'))
}

/// RFC 3339 in UTC, to the second.
pub(crate) fn second(at: Timestamp) -> String {
    let date = DateTime::from_secs(at.secs()).fmt(Format::DateTime);
    date.unwrap_or_else(|_| at.secs().to_string())
}

/// `3 min ago`, `in 2 h`.
pub(crate) fn from_now(at: Timestamp, now: Timestamp) -> String {
    match at.millis().cmp(&now.millis()) {
        std::cmp::Ordering::Greater => format!("in {}", length(at.since(now))),
        std::cmp::Ordering::Equal | std::cmp::Ordering::Less => {
            format!("{} ago", length(now.since(at)))
        }
    }
}

/// A length of time in its largest unit that fits.
pub(crate) fn length(duration: Duration) -> String {
    let secs = duration.as_secs();
    let rounded = |unit: u64| (secs + unit / 2) / unit;
    match secs {
        0..120 => format!("{secs} s"),
        120..7_200 => format!("{} min", rounded(60)),
        7_200..172_800 => format!("{} h", rounded(3600)),
        _ => format!("{} days", rounded(86_400)),
    }
}

/// `1 event`, `2 events`.
pub(crate) fn events(count: usize) -> String {
    if count == 1 { "1 event".into() } else { format!("{count} events") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_a_time_ago_or_a_date() {
        let now = Timestamp::from_secs(1_800_000_000);
        for (text, secs) in [
            ("90s", 1_799_999_910),
            ("24h", 1_799_913_600),
            ("7d", 1_799_395_200),
            ("2026-11-30", 1_795_996_800),
            ("2026-11-30T16:02:51Z", 1_796_054_571),
            ("2026-11-30T17:02:51+01:00", 1_796_054_571),
        ] {
            assert_eq!(Moment::parse(text).unwrap().at(now).secs(), secs, "{text}");
        }
        for bad in ["", "h", "-1h", "yesterday", "2026-13-01", "5 h", "é", "99999999999999999999d"]
        {
            assert!(Moment::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn times_read_as_people_say_them() {
        let now = Timestamp::from_millis(1_796_054_571_845);
        assert_eq!(date(now), "2026-11-30T16:02:51.845Z");
        assert_eq!(date(Timestamp::from_secs(1_796_054_571)), "2026-11-30T16:02:51.000Z");
        assert_eq!(second(now), "2026-11-30T16:02:51Z");
        assert_eq!(from_now(now.minus(Duration::from_secs(200)), now), "3 min ago");
        assert_eq!(from_now(now.plus(Duration::from_secs(30 * 86_400 - 5)), now), "in 30 days");
        assert_eq!(events(1), "1 event");
        assert_eq!(events(0), "0 events");
    }
}
