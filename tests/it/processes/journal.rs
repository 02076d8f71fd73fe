//! What the proxy saw: a line for whatever concerns an event, and for each event what was sent and
//! what took effect, in the order in which the services did it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::proxy::Call;

/// All that was seen.
#[derive(Debug)]
pub(crate) struct Journal {
    began: Instant,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    lines: Vec<Line>,
    events: BTreeMap<String, Seen>,
    ends: u32,
}

#[derive(Clone, Debug)]
struct Line {
    at: Duration,
    keys: Vec<String>,
    text: String,
}

/// What was seen of one event.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// The ids of its messages.
    pub(crate) messages: BTreeSet<String>,
    /// Of the sends, how many the sender may not have known of.
    pub(crate) unheard: u32,
    /// The place of its first message in the FIFO queue.
    pub(crate) first_send: Option<u64>,
    /// The transactions that applied its effects; one that the SDK repeats is one.
    pub(crate) commits: BTreeSet<String>,
    /// The place of its end among all ends.
    pub(crate) end: Option<u32>,
}

impl Journal {
    pub(crate) fn new() -> Self {
        Self { began: Instant::now(), state: Mutex::default() }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// One more line, about these events.
    pub(crate) fn note(&self, keys: &[String], text: &str) {
        let line = Line { at: self.elapsed(), keys: keys.to_vec(), text: text.to_owned() };
        self.state.lock().unwrap().lines.push(line);
    }

    /// A call has happened. `heard`: nothing keeps its answer from the caller.
    pub(crate) fn happened(&self, call: &Call, answer: &Value, heard: bool) {
        let mut state = self.state.lock().unwrap();
        match call.step {
            "send" => {
                let sequence = answer["SequenceNumber"].as_str();
                state.sent(&call.keys[0], &answer["MessageId"], sequence, heard);
            }
            "send batch" => {
                for sent in answer["Successful"].as_array().into_iter().flatten() {
                    let index: usize = sent["Id"].as_str().unwrap().parse().unwrap();
                    let sequence = sent["SequenceNumber"].as_str();
                    state.sent(&call.keys[index], &sent["MessageId"], sequence, heard);
                }
            }
            "commit" => {
                let token = call.request["ClientRequestToken"].as_str().unwrap().to_owned();
                let seen = state.events.entry(call.keys[0].clone()).or_default();
                seen.commits.insert(token);
                state.ended(&call.keys[0]);
            }
            "finish" => state.ended(&call.keys[0]),
            _ => {}
        }
    }

    /// What was seen of an event.
    pub(crate) fn seen(&self, key: &str) -> Seen {
        self.state.lock().unwrap().events.get(key).cloned().unwrap_or_default()
    }

    /// The last lines about an event, or about everything.
    pub(crate) fn last(&self, key: Option<&str>, count: usize) -> String {
        let state = self.state.lock().unwrap();
        let about = |line: &&Line| key.is_none_or(|key| line.keys.iter().any(|k| k == key));
        let lines: Vec<&Line> = state.lines.iter().rev().filter(about).take(count).collect();
        let shown = lines.iter().rev().map(|line| {
            format!("    {:8.3} s  {} {}\n", line.at.as_secs_f64(), line.text, line.keys.join(" "))
        });
        shown.collect()
    }
}

impl State {
    fn sent(&mut self, key: &str, message: &Value, sequence: Option<&str>, heard: bool) {
        let seen = self.events.entry(key.to_owned()).or_default();
        seen.messages.insert(message.as_str().unwrap_or_default().to_owned());
        seen.unheard += u32::from(!heard);
        seen.first_send = seen.first_send.or(sequence.and_then(|sequence| sequence.parse().ok()));
    }

    fn ended(&mut self, key: &str) {
        self.ends += 1;
        let place = self.ends;
        self.events.entry(key.to_owned()).or_default().end.get_or_insert(place);
    }
}
