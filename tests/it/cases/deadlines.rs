//! Slow services: our own answer comes before the producer stops waiting.

use std::time::{Duration, Instant};

use shared::aws::CallBudget;
use shared::limits::INGRESS_TIMEOUT;
use shared::source::Sources;

use super::desk::Desk;
use super::judge::{Case, Status, case};
use super::producers::{Kallglot, Kudos, Post};
use crate::support::Fault;

/// The strictest producer waits 8 seconds, the way to it and back included.
const AT_MOST: Duration = Duration::from_secs(7);

const fn millis(millis: u64) -> Fault {
    Fault::Slow(Duration::from_millis(millis))
}

async fn deployed() -> Desk {
    Desk::with(Sources::builtin().unwrap(), CallBudget::INGRESS).await
}

/// What each service does: the secret store, the table, the queue.
fn plan(desk: &Desk, [secrets, table, queue]: [Fault; 3]) {
    desk.faulty.plan(move |operation, _| match operation {
        "GetSecretValue" => secrets,
        "SendMessage" | "GetQueueAttributes" => queue,
        _ => table,
    });
}

// https://github.com/probot/adapter-aws-lambda-serverless/issues/29
// https://github.com/reapit/foundations/issues/4092
#[tokio::test(flavor = "multi_thread")]
async fn a_slow_cold_start_is_answered_in_time() {
    for Case { kind, answer, input: services } in [
        case(
            "secrets after 1 s, put after 1 s",
            Status(200),
            [millis(1_000), millis(1_000), Fault::None],
        ),
        case(
            "secrets after 3 s, put after 1 s",
            Status(503),
            [millis(3_000), millis(1_000), Fault::None],
        ),
        case("every service after 900 ms", Status(200), [millis(900); 3]),
        case("every service silent", Status(503), [Fault::Hangs; 3]),
    ] {
        let desk = deployed().await;
        plan(&desk, services);
        let began = Instant::now();
        desk.world.here().ingress.warm_up().await;
        let reply = desk.ask(Post::new(Kudos, "evt_1").event()).await;
        let took = began.elapsed();
        assert_eq!(Status(reply.status), answer, "{kind}, after {took:?}");
        assert!(took < AT_MOST, "{kind}: {took:?}");
        assert_eq!(reply.retry_after.is_some(), reply.status == 503, "{kind}");
        desk.faulty.heal();
        assert_eq!(desk.send(&Post::new(Kudos, "evt_1")).await, 200, "{kind}: the next one");
    }
}

// https://github.com/awslabs/aws-sdk-rust/issues/558
// https://github.com/18F/identity-idp/pull/4740
#[tokio::test(flavor = "multi_thread")]
async fn a_silent_service_is_answered_by_our_own_code_in_time() {
    for Case { kind, answer, input: services } in [
        case("secret store silent", Status(503), [Fault::Hangs, Fault::None, Fault::None]),
        case("table silent", Status(503), [Fault::None, Fault::Hangs, Fault::None]),
        case("queue silent, event stored", Status(200), [Fault::None, Fault::None, Fault::Hangs]),
        case("queue after 2.9 s, event stored", Status(200), {
            [Fault::None, Fault::None, millis(2_900)]
        }),
        case("put after 1.5 s, queue silent", Status(200), {
            [Fault::None, millis(1_500), Fault::Hangs]
        }),
        case("table's answers lost", Status(503), [Fault::None, Fault::AnswerLost, Fault::None]),
        case("everything fails at once", Status(503), [Fault::Failed; 3]),
    ] {
        let desk = deployed().await;
        plan(&desk, services);
        let began = Instant::now();
        // A timeout of the function would be an error here.
        let reply = desk.ask(Post::new(Kallglot, "evt_1").event()).await;
        let took = began.elapsed();
        assert_eq!(Status(reply.status), answer, "{kind}, after {took:?}");
        assert!(took < INGRESS_TIMEOUT, "{kind}: {took:?}");
        assert_eq!(reply.retry_after.is_some(), reply.status == 503, "{kind}");
        desk.faulty.heal();
        if reply.status == 200 {
            assert_eq!(desk.status("kallglot#evt_1").await, "pending", "{kind}");
        }
        assert_eq!(desk.send(&Post::new(Kallglot, "evt_1")).await, 200, "{kind}: the next one");
    }
}
