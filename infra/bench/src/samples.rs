//! Numbers that were measured more than once.

use serde::{Serialize, Serializer};

/// Samples of one figure, in the order in which they were taken.
#[derive(Clone, Debug, Default)]
pub struct Samples(Vec<f64>);

impl Samples {
    /// One more.
    pub fn push(&mut self, sample: f64) {
        self.0.push(sample);
    }

    /// Whether nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The one in the middle.
    pub fn median(&self) -> f64 {
        self.at(0.5)
    }

    /// The quartiles around it: half of all samples lie between.
    pub fn quartiles(&self) -> (f64, f64) {
        (self.at(0.25), self.at(0.75))
    }

    /// The largest.
    pub fn max(&self) -> f64 {
        self.at(1.0)
    }

    /// Bytes as MB.
    #[must_use]
    pub fn in_millions(&self) -> Self {
        Self(self.0.iter().map(|sample| sample / 1e6).collect())
    }

    /// How many times the other's, sample by sample: those of one place were taken one after the
    /// other, so that what else the machine did weighs on both.
    #[must_use]
    pub fn over(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(ours, theirs)| ours / theirs).collect())
    }

    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a place in a list of a few hundred"
    )]
    fn at(&self, part: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1);
        sorted.get((last as f64 * part).round() as usize).copied().unwrap_or(f64::NAN)
    }
}

impl Serialize for Samples {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_and_the_ratio_are_those_of_the_samples() {
        let of = |samples: &[f64]| {
            let mut all = Samples::default();
            samples.iter().for_each(|sample| all.push(*sample));
            all
        };
        let ours = of(&[9.0, 2.0, 4.0, 8.0, 100.0]);
        assert_eq!((ours.median(), ours.quartiles(), ours.max()), (8.0, (4.0, 9.0), 100.0));
        // The fifth pair was measured while the machine was busy, and says so on both sides.
        let theirs = of(&[3.0, 1.0, 2.0, 4.0, 50.0]);
        assert_eq!(ours.over(&theirs).median(), 2.0);
        assert!(Samples::default().median().is_nan());
    }
}
