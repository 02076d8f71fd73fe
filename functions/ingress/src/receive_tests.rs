//! What each outcome is counted as. Alarms lean on it: on `Authentic` for silence, on the average of
//! `AnsweredFault` for faults, on `Failed` for every row that becomes failed.

use shared::source::Sources;

use super::*;
use crate::answer::answer;

fn accepted(what: What) -> Outcome {
    Outcome::Accepted(Accepted { what, send: false, body_differs: false })
}

fn stored() -> Vec<Outcome> {
    let duplicates = [
        Duplicate::Ours,
        Duplicate::Resend,
        Duplicate::Rerun,
        Duplicate::Unusable,
        Duplicate::Settled,
    ];
    let mut all = vec![accepted(What::Stored), accepted(What::Ignored)];
    all.extend(duplicates.map(|duplicate| accepted(What::Duplicate(duplicate))));
    all
}

fn parked() -> Vec<Outcome> {
    let kinds = [ErrorKind::BeyondMemory, ErrorKind::Unusable];
    kinds.map(|kind| accepted(What::Parked(kind))).into()
}

fn refused() -> Vec<Outcome> {
    let reasons = [Refusal::Mismatch, Refusal::Missing, Refusal::OutOfTolerance];
    reasons.map(Outcome::Refused).into()
}

fn without_secret() -> Vec<Outcome> {
    let late = Fault::out_of_time("GetSecretValue").into();
    vec![Outcome::NoSecret(SecretsFault::Incomplete), Outcome::NoSecret(late)]
}

fn not_stored() -> Outcome {
    Outcome::Fault(Fault::out_of_time("storing the event"))
}

/// The value, if there is one. Every delivery is counted as received, once.
fn value(outcome: &Outcome, metric: Metric) -> Option<f64> {
    let values = counted(outcome);
    let of = |wanted| values.iter().filter(move |(metric, _)| *metric == wanted);
    assert_eq!(of(Metric::Received).count(), 1, "{outcome:?}");
    assert!(of(metric).count() <= 1, "{outcome:?}");
    of(metric).map(|(_, value)| *value).next()
}

#[test]
fn only_what_was_signed_with_a_secret_of_ours_breaks_the_silence() {
    let held = [stored(), parked(), vec![not_stored(), Outcome::Handshake(String::new())]].concat();
    for outcome in held {
        assert_eq!(value(&outcome, Metric::Authentic), Some(1.0), "{outcome:?}");
    }
    for outcome in [refused(), without_secret()].concat() {
        assert_eq!(value(&outcome, Metric::Authentic), None, "{outcome:?}");
    }
}

#[test]
fn the_average_of_faults_is_one_when_nothing_is_stored_and_refusals_do_not_change_it() {
    for outcome in [stored(), parked()].concat() {
        assert_eq!(value(&outcome, Metric::AnsweredFault), Some(0.0), "{outcome:?}");
    }
    for outcome in [vec![not_stored()], without_secret()].concat() {
        assert_eq!(value(&outcome, Metric::AnsweredFault), Some(1.0), "{outcome:?}");
    }
    for outcome in refused() {
        assert_eq!(value(&outcome, Metric::AnsweredFault), None, "{outcome:?}");
    }
}

#[test]
fn what_is_counted_as_a_fault_is_what_is_answered_503() {
    let sources = Sources::builtin().unwrap();
    let all = [stored(), parked(), refused(), without_secret(), vec![not_stored()]].concat();
    for profile in sources.iter() {
        for outcome in &all {
            let counted = value(outcome, Metric::AnsweredFault) == Some(1.0);
            assert_eq!(counted, answer(outcome, Some(&profile.contract)).retry, "{outcome:?}");
        }
    }
}

#[test]
fn a_row_that_is_parked_is_counted_as_failed_and_its_repetition_is_not() {
    for outcome in parked() {
        assert_eq!(value(&outcome, Metric::Failed), Some(1.0), "{outcome:?}");
    }
    for outcome in [stored(), refused(), without_secret(), vec![not_stored()]].concat() {
        assert_eq!(value(&outcome, Metric::Failed), None, "{outcome:?}");
    }
}
