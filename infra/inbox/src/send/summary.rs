//! What the answers mean to the producer.

use http::StatusCode;
use serde_json::json;
use shared::source::Profile;

use super::event::Template;
use super::volley::Tally;
use crate::console::{Table, Tone};
use crate::context::Context;
use crate::exit::{Ending, Failure};
use crate::shell;

/// Says how it went.
pub(super) fn tell(
    tally: &Tally,
    tamper: bool,
    profile: &Profile,
    template: &Template,
    context: &Context,
) -> Result<Ending, Failure> {
    let as_wanted = tally.count(|status| match tamper {
        true => status == 401,
        false => (200..300).contains(&status),
    });
    if context.console.is_json() {
        context.console.document(&document(tally, profile, template))?;
    } else {
        context.console.line(text(tally, tamper, profile, template, context))?;
    }
    match tally.sent() {
        sent if sent == as_wanted => Ok(Ending::Done),
        _ if tally.answers.is_empty() => {
            let why = tally.unanswered.keys().copied().collect::<Vec<_>>().join(", ");
            let what = format!("nothing was answered: {why}");
            Err(Failure::unreachable(what, "curl -i at the same address; look at --url"))
        }
        _ => Ok(Ending::Problem),
    }
}

/// What an answer means to this producer.
pub(super) fn meaning(status: u16, profile: &Profile) -> String {
    let title = &profile.title;
    let Ok(code) = StatusCode::from_u16(status) else { return "no HTTP status".into() };
    match code {
        _ if code.is_success() => format!("delivered: {title} is content"),
        _ if profile.contract.retries.include(code) => format!("{title} delivers it again"),
        StatusCode::GONE if profile.name.as_str() == "kudos" => {
            format!("final: {title} does not deliver it again, and pauses the subscription")
        }
        _ => format!("final: {title} does not deliver it again"),
    }
}

fn document(tally: &Tally, profile: &Profile, template: &Template) -> serde_json::Value {
    let answers = tally.answers.iter().map(|(status, count)| {
        json!({"status": status, "count": count, "meaning": meaning(*status, profile)})
    });
    let millis = |thousandths| {
        tally.quantile(thousandths).map(|time| (time.as_secs_f64() * 1e6).round() / 1e3)
    };
    json!({
        "source": profile.name.as_str(),
        "event_type": template.event_type,
        "first_id": template.id(1),
        "last_id": template.id(tally.sent()),
        "sent": tally.sent(),
        "interrupted": tally.interrupted,
        "answers": answers.collect::<Vec<_>>(),
        "unanswered": tally.unanswered,
        "seconds": tally.took.as_secs_f64(),
        "latency_ms": {
            "p50": millis(500), "p95": millis(950), "p99": millis(990), "max": millis(1000),
        },
    })
}

fn text(
    tally: &Tally,
    tamper: bool,
    profile: &Profile,
    template: &Template,
    context: &Context,
) -> String {
    let secs = tally.took.as_secs_f64();
    let sent = tally.sent();
    let what = match sent {
        1 => "event",
        _ if template.is_one_event() => "deliveries of one event",
        _ => "events",
    };
    let rate = f64::from(sent) / secs.max(0.001);
    let mut lines = vec![format!(
        "{sent} {what} of type {} in {secs:.1} s ({rate:.0}/s){}",
        template.event_type,
        if tally.interrupted { ", interrupted" } else { "" },
    )];
    let mut table = Table::new(&["answer", "count", "meaning"]);
    for (status, count) in &tally.answers {
        table.row([status.to_string(), count.to_string(), meaning(*status, profile)]);
        let good = if tamper { *status == 401 } else { (200..300).contains(status) };
        table.tone(0, if good { Tone::Good } else { Tone::Bad });
    }
    for (why, count) in &tally.unanswered {
        let meaning = format!("{} delivers it again", profile.title);
        table.row([(*why).to_owned(), count.to_string(), meaning]);
        table.tone(0, Tone::Bad);
    }
    lines.push(table.text(&context.console));
    let times = [("p50", 500), ("p95", 950), ("p99", 990), ("max", 1000)].map(|(name, part)| {
        let millis = tally.quantile(part).unwrap_or_default().as_secs_f64() * 1e3;
        format!("{name} {millis:.1} ms")
    });
    if !tally.latencies.is_empty() {
        lines.push(format!("answered after {}", times.join(", ")));
    }
    let stored = tally.count(|status| (200..300).contains(&status)) > 0;
    if let (true, Some(first), Some(last)) = (stored, template.id(1), template.id(sent)) {
        let source = &profile.name;
        lines.push(if first == last {
            format!("next: {}", context.command(&format!("show {source} {}", shell::id(&first))))
        } else {
            format!("ids {first} to {last}")
        });
    }
    lines.join("\n")
}
