//! Where the functions' own lines about an event are: a CloudWatch Logs Insights query.

use std::time::Duration;

use shared::inbox::Row;
use shared::key::EventKey;
use shared::time::Timestamp;

use crate::place::Kind;
use crate::shell;

/// Lines shortly before and after belong to it as well.
const MARGIN: Duration = Duration::from_secs(300);
const FUNCTIONS: [&str; 3] = ["ingress", "processor", "sweeper"];

/// The query for an event that has a row.
pub(super) fn text(kind: &Kind, row: &Row, now: Timestamp) -> String {
    let end = row.finished_at.map_or(now, |at| at.plus(MARGIN).min(now));
    query(kind, &row.key, row.received_at.minus(MARGIN), end)
}

/// The query for one that has none: the last day.
pub(super) fn text_of_key(kind: &Kind, key: &EventKey, now: Timestamp) -> String {
    query(kind, key, now.minus(Duration::from_secs(86_400)), now)
}

fn query(kind: &Kind, key: &EventKey, start: Timestamp, end: Timestamp) -> String {
    let query = insights(key);
    let head = format!("logs (CloudWatch Logs Insights):\n\n{}\n", indented(&query));
    let stack = match kind {
        Kind::Local(_) => {
            return format!("{head}\nLocally they are in the terminal of `cargo run -p local`.");
        }
        Kind::Stack(name) => name.as_str(),
        Kind::Environment => "STACK",
    };
    let groups = FUNCTIONS.map(|function| shell::word(&format!("/aws/lambda/{stack}-{function}")));
    let one_line = query.replace("\n| ", " | ");
    let start = format!(
        "aws logs start-query --log-group-names {} \\\n    --start-time {} --end-time {} \
         --query-string {} \\\n    --query queryId --output text",
        groups.join(" "),
        start.secs(),
        end.secs() + 1,
        shell::word(&one_line),
    );
    let results = "aws logs get-query-results --query-id \"$id\" --output text";
    format!("{head}\n  id=$({start}); sleep 5\n  {results}")
}

/// A string of the query language is in double quotes, and a backslash escapes.
fn insights(key: &EventKey) -> String {
    let key = key.to_string().replace('\\', r"\\").replace('"', "\\\"");
    format!(
        "fields @timestamp, @log, level, message, outcome, attempt, why, error, fault\n\
         | filter key = \"{key}\"\n| sort @timestamp asc\n| limit 1000"
    )
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_cannot_break_out_of_the_query() {
        let key = EventKey::parse(r#"kudos#a" or 1 \ 'b'"#).unwrap();
        let said = text_of_key(&Kind::Stack("prod".into()), &key, Timestamp::from_secs(100_000));
        assert!(said.contains(r#"filter key = "kudos#a\" or 1 \\ 'b'""#), "{said}");
        assert!(said.contains(r"\\ '\''b'\''"), "{said}");
        assert!(said.contains("/aws/lambda/prod-ingress /aws/lambda/prod-processor"), "{said}");
        assert!(said.contains("--start-time 13600 --end-time 100001"), "{said}");
    }
}
