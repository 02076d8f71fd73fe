//! `inbox stats`: the producers' own table of how it went, and the handlers' by type.

mod cloudwatch;
mod emf;
mod readings;

use serde_json::json;

use self::readings::{ByType, Readings, Row};
use crate::console::{Table, Tone};
use crate::context::Context;
use crate::exit::{Ending, Failure};
use crate::place::Kind;
use crate::when::{Moment, date, from_now, second};

/// Show how many events came, ended well, were refused or failed, and how long handlers took
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// From when on: 30m, 24h or 7d ago, or a date
    #[arg(long, value_name = "TIME", default_value = "24h", value_parser = Moment::parse)]
    since: Moment,
}

const EXAMPLES: &str = "\
Examples:
  inbox --stack webhook-inbox-prod stats
  inbox --local=.local stats --since 1h
  inbox --local stats --json | jq '.sources[] | select(.failed > 0)'

By source: total are the new deliveries with a final answer (neither duplicates nor 503), delivered
the events that ended well, discarded those whose signature was refused, failed the events that
became failed, unusable ones too; an event that fails again after a redrive counts again.
success_rate is delivered of total. By type: runs of the handler, errors among them, events that
failed in a run, and the 95th percentile of a run.

Of a stack the numbers are CloudWatch's, some minutes behind; it lists no type that nothing came of
for two weeks. Locally they are those that
`cargo run -p local -- --data DIR` keeps in DIR/metrics.jsonl.";

/// Shows them.
pub(crate) async fn run(args: &Args, context: &Context) -> Result<Ending, Failure> {
    let place = context.place().await?;
    let until = context.now();
    let since = args.since.at(until);
    if since >= until {
        return Err(Failure::usage(
            "nothing lies between --since and now",
            "inbox stats --since 24h",
        ));
    }
    let readings = match &place.kind {
        Kind::Local(folder) => emf::read(folder, &place.common.inbox_table, since)?,
        Kind::Stack(_) | Kind::Environment => {
            cloudwatch::read(place, &context.sources, since, until).await?
        }
    };
    let (rows, types) = (readings.rows(), readings.by_type());
    if context.console.is_json() {
        context.console.document(&json!({
            "since": date(since),
            "until": date(until),
            "sources": rows.iter().map(Row::document).collect::<Vec<_>>(),
            "types": types.iter().map(ByType::document).collect::<Vec<_>>(),
        }))?;
    } else {
        tell(context, &rows, &types)?;
    }
    remark(context, &readings);
    Ok(Ending::Done)
}

fn tell(context: &Context, rows: &[Row], types: &[ByType]) -> Result<(), Failure> {
    let (console, now) = (&context.console, context.now());
    if rows.is_empty() {
        return Ok(console.line("nothing was measured in this time")?);
    }
    let mut table = Table::new(&[
        "source",
        "total",
        "delivered",
        "discarded",
        "failed",
        "success_rate",
        "last_5xx",
        "answer p95",
    ]);
    for row in rows {
        let last = row
            .last_5xx
            .map_or_else(|| "-".into(), |at| format!("{} ({})", second(at), from_now(at, now)));
        table.row([
            row.source.clone(),
            row.total.to_string(),
            row.delivered.to_string(),
            row.discarded.to_string(),
            row.failed.to_string(),
            row.success_rate.map_or_else(|| "-".into(), |rate| format!("{:.2} %", rate * 100.0)),
            last,
            millis(row.answer_p95),
        ]);
        if row.failed > 0 {
            table.tone(4, Tone::Bad);
        }
    }
    console.line(table.text(console))?;
    if types.is_empty() {
        return Ok(());
    }
    console.line("")?;
    let mut table =
        Table::new(&["source", "type", "runs", "errors", "error_rate", "failed", "handler p95"]);
    for of_type in types {
        let rate = of_type.error_rate();
        table.row([
            of_type.source.clone(),
            of_type.event_type.clone(),
            of_type.runs.to_string(),
            of_type.errors.to_string(),
            rate.map_or_else(|| "-".into(), |rate| format!("{:.2} %", rate * 100.0)),
            of_type.failed.to_string(),
            millis(of_type.p95),
        ]);
        if of_type.failed > 0 {
            table.tone(5, Tone::Bad);
        }
    }
    console.line(table.text(console))?;
    Ok(())
}

fn millis(value: Option<f64>) -> String {
    value.map_or_else(|| "-".into(), |millis| format!("{millis:.0} ms"))
}

fn remark(context: &Context, readings: &Readings) {
    for source in readings.sources() {
        if context.sources.get(source).is_none() {
            let what = "is measured, but none of the sources in infra/sources.toml";
            context.console.note(format!("note: {source} {what}"));
        }
    }
}
