//! What the person or the program hears.

use std::io;

use serde_json::json;
use shared::source::Profile;

use super::judge::{Right, Verdict, Wrong};
use crate::console::{Tone, visible};
use crate::context::Context;
use crate::when;

/// Prints the verdict.
///
/// # Errors
/// Nobody reads it.
pub(super) fn tell(verdict: &Verdict, profile: &Profile, context: &Context) -> io::Result<()> {
    if context.console.is_json() {
        return context.console.document(&match verdict {
            Verdict::Right(right) => right_json(right, profile),
            Verdict::Wrong(wrong) => wrong_json(wrong, profile),
        });
    }
    let text = match verdict {
        Verdict::Right(right) => right_text(right, profile, context),
        Verdict::Wrong(wrong) => wrong_text(wrong, profile, context),
    };
    context.console.line(text)
}

fn right_json(right: &Right, profile: &Profile) -> serde_json::Value {
    json!({
        "verifies": true,
        "source": profile.name.as_str(),
        "signed_by": right.signed_by.as_str(),
        "by_older_secret": right.by_older,
        "signed_at": right.signed_at.map(when::second),
        "event_id": right.id.as_str(),
        "event_type": right.event_type.as_ref().map(|t| t.as_str()),
        "unusable": right.unusable,
    })
}

fn wrong_json(wrong: &Wrong, profile: &Profile) -> serde_json::Value {
    let source = profile.name.as_str();
    let mistakes = wrong.mistakes.iter().map(|mistake| {
        json!({
            "mistake": mistake.word(),
            "what": mistake.what(),
            "next": mistake.next(source),
        })
    });
    json!({
        "verifies": false,
        "source": source,
        "refusal": wrong.refusal.word(),
        "explained": wrong.explained,
        "mistakes": mistakes.collect::<Vec<_>>(),
        "hints": wrong.hints,
        "guesses": wrong.guesses,
        "tried": wrong.tried,
    })
}

fn right_text(right: &Right, profile: &Profile, context: &Context) -> String {
    let mut lines = vec![format!(
        "{}: signed by {}{}",
        context.console.tint("verifies", Tone::Good),
        right.signed_by,
        right.signed_at.map(|at| format!(" at {}", when::second(at))).unwrap_or_default(),
    )];
    let event_type = right.event_type.as_ref().map_or("without a type", |t| t.as_str());
    lines.push(format!("event: {}#{}, {event_type}", profile.name, right.id));
    if right.by_older {
        lines.push("note: made by a secret that is not the newest".into());
    }
    if let Some(why) = &right.unusable {
        let status = profile.contract.unusable.as_u16();
        lines.push(format!("note: no handler can use it: {why}; it is answered {status}"));
    }
    lines.join("\n")
}

fn wrong_text(wrong: &Wrong, profile: &Profile, context: &Context) -> String {
    let source = profile.name.as_str();
    let verdict = context.console.tint("does not verify", Tone::Bad);
    let mut lines = vec![format!("{verdict}: {}", wrong.refusal)];
    if wrong.explained {
        let all = match wrong.mistakes.len() {
            1 => "this explains it:".to_owned(),
            many => format!("these {many} together explain it:"),
        };
        lines.push(all);
    } else if !wrong.mistakes.is_empty() {
        lines.push("this is wrong, but does not explain it alone:".into());
    }
    for (i, mistake) in wrong.mistakes.iter().enumerate() {
        lines.push(visible(&format!("{}. {}", i + 1, mistake.what())));
        lines.push(visible(&format!("   next: {}", mistake.next(source))));
    }
    if !wrong.explained {
        lines.push(format!("nothing explains it, {} guesses were made", wrong.guesses));
        lines.extend(wrong.hints.iter().map(|hint| format!("- {}", visible(hint))));
        lines.push(format!("secrets tried: {}", wrong.tried.join(", ")));
        lines.push(format!("next: {}", context.command(&format!("secrets list {source}"))));
    }
    lines.join("\n")
}
