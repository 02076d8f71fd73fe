//! `inbox show`: what happened to one event, and what happens next.

mod life;
mod logs;
mod next;

use serde_json::{Value, json};
use shared::inbox::{BodyFault, Control, Row};
use shared::key::{EventId, EventKey, SourceName};

use crate::context::Context;
use crate::exit::{Ending, Failure};
use crate::place::Place;
use crate::shell;

/// Show the whole life of one event, and what happens next
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Whose event
    #[arg(value_parser = SourceName::parse)]
    source: SourceName,
    /// The producer's id of it, exactly as it was sent
    #[arg(value_parser = EventId::parse)]
    id: EventId,
    /// Print the payload and nothing else, byte for byte as it was signed
    #[arg(long)]
    body: bool,
}

const EXAMPLES: &str = "\
Examples:
  inbox --stack webhook-inbox-prod show kudos evt_1
  inbox --local show kudos evt_1 --body | jq .
  inbox --local show kudos evt_1 --json | jq -r .next
  inbox --local show kallglot 'an id with spaces, # or é'

Ends with the CloudWatch Logs Insights query for what the functions have said about the event.
With --body --json the payload is a field `body` of the document, in base64 if it is not UTF-8.";

/// Shows it; exit code 1 if there is no such event.
pub(crate) async fn run(args: &Args, context: &Context) -> Result<Ending, Failure> {
    let place = context.place().await?;
    let inbox = place.inbox();
    let key = EventKey { source: args.source.clone(), id: args.id.clone() };
    context.remark_unknown(&key.source);
    let Some(row) = inbox.row(&key).await? else {
        return not_there(args, context, place, &key);
    };
    let body = if args.body { Some(body(&inbox, &row).await?) } else { None };
    let control = inbox.control(&key.source).await?;
    match (body, context.console.is_json()) {
        (Some(body), false) => print_body(context, &body)?,
        (body, true) => {
            context.console.document(&document(context, &row, &control, body.as_deref()))?;
        }
        (None, false) => tell(context, place, &row, &control)?,
    }
    Ok(Ending::Done)
}

fn tell(context: &Context, place: &Place, row: &Row, control: &Control) -> Result<(), Failure> {
    let now = context.now();
    let console = &context.console;
    console.line(life::text(row, console, now))?;
    console.line(format!("\nnext: {}", next_step(context, row, control)))?;
    console.line(format!("\n{}", logs::text(&place.kind, row, now)))?;
    Ok(())
}

fn next_step(context: &Context, row: &Row, control: &Control) -> String {
    let known = context.sources.get(row.key.source.as_str());
    let event = format!("{} {}", row.key.source, shell::id(row.key.id.as_str()));
    let command = |verb: &str| match verb {
        "resume" => context.command(&format!("resume {}", row.key.source)),
        _ => context.command(&format!("{verb} {event}")),
    };
    next::step(row, control, known, context.now(), command)
}

fn document(context: &Context, row: &Row, control: &Control, body: Option<&[u8]>) -> Value {
    let mut document = life::document(row);
    document["next"] = next_step(context, row, control).into();
    if let Some(body) = body {
        match std::str::from_utf8(body) {
            Ok(text) => document["body"] = text.into(),
            Err(_) => {
                use base64::Engine as _;
                let encoded = base64::engine::general_purpose::STANDARD.encode(body);
                document["body_base64"] = encoded.into();
            }
        }
    }
    document
}

async fn body(inbox: &shared::inbox::Inbox, row: &Row) -> Result<Vec<u8>, Failure> {
    inbox.body(row).await.map_err(|fault| match fault {
        BodyFault::Unread(fault) => fault.into(),
        lost @ (BodyFault::Missing(_) | BodyFault::Corrupt) => Failure::unreachable(
            format!("the payload of {} cannot be had: {lost}", row.key),
            "ask the producer for it; nothing here has another copy",
        ),
    })
}

/// As it is for a program; for a person without what a terminal would obey.
fn print_body(context: &Context, body: &[u8]) -> Result<(), Failure> {
    if context.console.is_terminal() {
        context.console.line(harmless(body))?;
    } else {
        context.console.bytes(body)?;
    }
    Ok(())
}

/// Whoever sent a payload must not be able to write over a terminal.
fn harmless(body: &[u8]) -> String {
    let mut harmless = String::with_capacity(body.len());
    for c in String::from_utf8_lossy(body).chars() {
        match c {
            '\n' | '\t' => harmless.push(c),
            _ if c.is_control() => harmless.extend(c.escape_unicode()),
            _ => harmless.push(c),
        }
    }
    harmless
}

/// Says so, and where else to look.
fn not_there(
    args: &Args,
    context: &Context,
    place: &Place,
    key: &EventKey,
) -> Result<Ending, Failure> {
    let days = place.common.retention.as_secs() / 86_400;
    let what = format!(
        "{key} is not in {}: it never arrived, was refused, or ended over {days} days ago",
        place.kind
    );
    if context.console.is_json() {
        let (source, id) = (key.source.as_str(), key.id.as_str());
        let document = json!({"source": source, "event_id": id, "status": null, "next": what});
        context.console.document(&document)?;
    } else if args.body {
        // What reads a payload from stdout must not take this for one.
        context.console.note(what);
    } else {
        context.console.line(what)?;
        context
            .console
            .line(format!("\n{}", logs::text_of_key(&place.kind, key, context.now())))?;
    }
    Ok(Ending::Problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_cannot_write_over_a_terminal() {
        assert_eq!(harmless(b"{\n\t\"a\":\x1b[2J\xff}"), "{\n\t\"a\":\\u{1b}[2J\u{fffd}}");
    }
}
