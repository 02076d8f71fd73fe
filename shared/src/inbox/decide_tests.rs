//! Each decision over every state that matters to it.

use super::*;
use crate::inbox::row::Encoding;
use crate::key::EventKey;

const NOW: Timestamp = Timestamp::from_secs(1_800_000_000);

fn ago(secs: u64) -> Timestamp {
    NOW.minus(Duration::from_secs(secs))
}

fn row(status: Status) -> Row {
    Row {
        key: EventKey::parse("kudos#evt_1").unwrap(),
        event_type: None,
        status,
        body: Body::Inline(vec![], Encoding::Identity),
        body_sha256: vec![],
        receipt: Token::stored("first"),
        received_at: ago(60),
        occurred_at: None,
        attempts: 0,
        lease_owner: None,
        lease_until: None,
        due_at: None,
        sends: 1,
        first_claimed_at: None,
        finished_at: None,
        error_kind: None,
        last_error: None,
        outcome: None,
        signed_by: None,
        first_attempt: None,
        expires_at: None,
        drop_reason: None,
    }
}

fn failed(kind: ErrorKind, finished_at: Timestamp) -> Row {
    Row { error_kind: Some(kind), finished_at: Some(finished_at), ..row(Status::Failed) }
}

#[test]
fn a_duplicate_is_answered_by_the_state_of_its_row() {
    let young = Row { received_at: ago(10), ..row(Status::Pending) };
    let held = Row { lease_until: Some(NOW.plus(LEASE_LEFT)), ..row(Status::Processing) };
    let crashed = Row { lease_until: Some(ago(1)), ..row(Status::Processing) };
    for (row, ordering, expected) in [
        (row(Status::Pending), Ordering::None, Duplicate::Resend),
        (young, Ordering::None, Duplicate::Settled),
        (held, Ordering::None, Duplicate::Settled),
        (crashed, Ordering::PerType, Duplicate::Resend),
        (row(Status::Done), Ordering::None, Duplicate::Settled),
        (row(Status::Ignored), Ordering::None, Duplicate::Settled),
        (row(Status::Dropped), Ordering::None, Duplicate::Settled),
        (failed(ErrorKind::Permanent, ago(3601)), Ordering::None, Duplicate::Rerun),
        (failed(ErrorKind::Exhausted, ago(3601)), Ordering::None, Duplicate::Rerun),
        (failed(ErrorKind::Exhausted, ago(3600)), Ordering::None, Duplicate::Settled),
        (failed(ErrorKind::Exhausted, ago(3601)), Ordering::PerType, Duplicate::Settled),
        (failed(ErrorKind::BeyondMemory, ago(3601)), Ordering::None, Duplicate::Settled),
        (failed(ErrorKind::Unsendable, ago(3601)), Ordering::None, Duplicate::Settled),
        (failed(ErrorKind::Unusable, ago(1)), Ordering::PerType, Duplicate::Unusable),
    ] {
        let receipt = Token::stored("second");
        assert_eq!(duplicate(&row, &receipt, ordering, NOW), expected, "{row:?}");
        assert_eq!(duplicate(&row, &row.receipt, ordering, NOW), Duplicate::Ours);
    }
}

const LEASE_LEFT: Duration = Duration::from_secs(30);

#[test]
fn a_refused_claim_knows_its_own_lease_again() {
    let me = Token::stored("me");
    let until = NOW.plus(LEASE_LEFT);
    let held = |owner: &str| Row {
        lease_owner: Some(Token::stored(owner)),
        lease_until: Some(until),
        ..row(Status::Processing)
    };
    assert_eq!(unclaimed(&held("me"), &me), Unclaimed::Ours);
    assert_eq!(unclaimed(&held("other"), &me), Unclaimed::Busy(until));
    let backing_off = Row { lease_until: Some(until), ..row(Status::Pending) };
    assert_eq!(unclaimed(&backing_off, &me), Unclaimed::Busy(until));
    for over in [Status::Done, Status::Ignored, Status::Failed, Status::Dropped] {
        assert_eq!(unclaimed(&row(over), &me), Unclaimed::Finished);
    }
}

#[test]
fn back_off_doubles_to_its_bound_with_jitter() {
    let secs = |ordering, attempt, random| backoff(ordering, attempt, random).as_secs_f64();
    assert_eq!(secs(Ordering::None, 1, 1.0), 2.0);
    assert_eq!(secs(Ordering::None, 3, 1.0), 8.0);
    assert_eq!(secs(Ordering::None, 3, 0.5), 4.0);
    assert_eq!(secs(Ordering::None, 3, 0.0), 0.0);
    assert_eq!(secs(Ordering::None, 12, 1.0), 900.0);
    assert_eq!(secs(Ordering::None, u32::MAX, 1.0), 900.0);
    assert_eq!(secs(Ordering::PerType, 12, 1.0), 30.0);
    let waits = |random| (1..ATTEMPTS_MAX_ORDERED).map(move |n| secs(Ordering::PerType, n, random));
    assert_eq!(waits(1.0).collect::<Vec<_>>(), [8.0, 16.0, 30.0, 30.0]);
    assert_eq!(waits(0.0).collect::<Vec<_>>(), [4.0, 8.0, 15.0, 15.0]);
    assert_eq!(waits(0.5).sum::<f64>(), 63.0, "about a minute");
}

#[test]
fn a_long_wait_is_the_sweepers_and_a_short_one_the_messages_unless_that_is_worn() {
    let wait = Duration::from_millis(1500);
    let expected = (Waiting::Message(Duration::from_secs(3)), NOW.plus(wait).plus(DUE_FIRST));
    assert_eq!(waiting(wait, false, NOW), expected);
    assert_eq!(waiting(wait, true, NOW), (Waiting::Sweeper, NOW.plus(wait)));
    assert_eq!(waiting(Duration::ZERO, false, NOW).0, Waiting::Message(Duration::from_secs(1)));
    let long = MESSAGE_WAIT_MAX + Duration::from_secs(1);
    assert_eq!(waiting(long, false, NOW), (Waiting::Sweeper, NOW.plus(long)));
}

#[test]
fn sends_are_spaced_from_two_minutes_to_fifteen() {
    let minutes = |sends| next_due(sends, NOW).since(NOW).as_secs() / 60;
    assert_eq!([1, 2, 3, 4, 5, 6, 1000].map(minutes), [2, 2, 4, 8, 15, 15, 15]);
}

#[test]
fn bodies_are_renewed_before_they_expire_and_patience_ends() {
    let parts = |days: u64| Body::Parts {
        count: 1,
        expires_at: NOW.plus(Duration::from_secs(days * 86_400)),
        encoding: Encoding::Identity,
    };
    assert!(needs_renewal(&parts(30), NOW) && !needs_renewal(&parts(31), NOW));
    assert!(!needs_renewal(&Body::Inline(vec![], Encoding::Identity), NOW));
    for days in [31, 90] {
        let visit = next_visit(ErrorKind::Permanent, &parts(days), NOW);
        assert!(needs_renewal(&parts(days), visit) && visit >= NOW, "{days}");
    }
    assert_eq!(next_visit(ErrorKind::Permanent, &parts(1), NOW), NOW);
    // Not renewed, so that nothing is gained by looking again every minute until it is removed.
    let gone = next_visit(ErrorKind::Unusable, &parts(0), NOW);
    assert!(gone > NOW.plus(Duration::from_secs(7 * 86_400)));
    assert!(is_out_of_patience(Some(ago(72 * 3600 + 1)), NOW));
    assert!(!is_out_of_patience(Some(ago(72 * 3600)), NOW) && !is_out_of_patience(None, NOW));
}
