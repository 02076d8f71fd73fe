//! Every outcome, for every producer of the file in the tree.

use shared::inbox::Accepted;
use shared::secret::SecretsFault;
use shared::signature::Refusal;
use shared::source::Sources;

use shared::fault::Fault;

use super::*;

fn accepted(what: What) -> Outcome {
    Outcome::Accepted(Accepted { what, send: false, body_differs: false })
}

fn faults() -> Vec<Outcome> {
    let code = String::new;
    let operation = "PutItem";
    vec![
        Outcome::Fault(Fault::Throttled { operation, code: code() }),
        Outcome::Fault(Fault::Conflict { operation, code: code() }),
        Outcome::Fault(Fault::Refused { operation, code: code() }),
        Outcome::Fault(Fault::Unanswered { operation, code: code() }),
        Outcome::NoSecret(SecretsFault::Incomplete),
        Outcome::NoSecret(Fault::out_of_time("GetSecretValue").into()),
    ]
}

fn durable() -> Vec<Outcome> {
    let kinds = [ErrorKind::BeyondMemory, ErrorKind::Unsendable];
    let duplicates = [Duplicate::Ours, Duplicate::Resend, Duplicate::Rerun, Duplicate::Settled];
    let mut all = vec![accepted(What::Stored), accepted(What::Ignored)];
    all.extend(kinds.map(|kind| accepted(What::Parked(kind))));
    all.extend(duplicates.map(|duplicate| accepted(What::Duplicate(duplicate))));
    all
}

fn of(outcome: &Outcome, contract: &Contract) -> u16 {
    answer(outcome, Some(contract)).status.as_u16()
}

#[test]
fn every_outcome_has_the_answer_that_each_producer_needs() {
    let sources = Sources::builtin().unwrap();
    for profile in sources.iter() {
        let contract = &profile.contract;
        for outcome in durable() {
            assert_eq!(of(&outcome, contract), 200, "{}: {outcome:?}", profile.name);
        }
        for outcome in faults() {
            let answer = answer(&outcome, Some(contract));
            assert!(answer.retry, "{outcome:?}");
            assert!(contract.retries.include(answer.status), "{}: {outcome:?}", profile.name);
        }
        let unusable = [What::Parked(ErrorKind::Unusable), What::Duplicate(Duplicate::Unusable)];
        for what in unusable {
            assert_eq!(of(&accepted(what), contract), contract.unusable.as_u16());
        }
        for (outcome, status) in [
            (Outcome::Handshake(String::new()), 200),
            (Outcome::Refused(Refusal::Mismatch), 401),
            (Outcome::Refused(Refusal::Missing), 401),
            (Outcome::Refused(Refusal::OutOfTolerance), 401),
            (Outcome::Refused(Refusal::Malformed("")), 401),
            (Outcome::UnknownSource, 404),
            (Outcome::WrongMethod, 405),
            (Outcome::Undecodable, 400),
            (Outcome::TooLarge, 413),
            (Outcome::Gone, 410),
        ] {
            assert_eq!(of(&outcome, contract), status, "{outcome:?}");
        }
    }
}

#[test]
fn unusable_deliveries_are_answered_by_the_contract() {
    let sources = Sources::builtin().unwrap();
    let unusable = accepted(What::Parked(ErrorKind::Unusable));
    for (source, status) in [("kudos", 400), ("kallglot", 200), ("apiera", 200)] {
        assert_eq!(of(&unusable, &sources.get(source).unwrap().contract), status);
    }
}

#[test]
fn answers_say_when_to_come_again_and_nothing_about_us() {
    let throttled = answer(&faults()[0], None);
    assert_eq!(throttled.status, 503);
    let response = throttled.into_response();
    assert_eq!(response.headers()["retry-after"], "30");
    assert!(!format!("{:?}", response.body()).contains("PutItem"));
    let refused = answer(&Outcome::Refused(Refusal::Mismatch), None).into_response();
    let missing = answer(&Outcome::Refused(Refusal::Missing), None).into_response();
    assert_eq!(refused.body(), missing.body());
    assert!(!refused.headers().contains_key("retry-after"));
}
