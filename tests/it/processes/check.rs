//! The invariants, read from the tables at rest, from what the producers heard, and from what the
//! proxy saw. They are those of the simulation.

use std::collections::{BTreeMap, BTreeSet};

use super::journal::{Journal, Seen};
use super::plan::Does;
use super::senders::Told;
use super::tables::{Tables, is_unfinished, shown};
use crate::simulation::producer::{Producer, Verdict};
use crate::support::world::{Item, number, string};

/// The shortest time between two due dates of a row.
const DUE_MS: i64 = 120_000;

/// Everything that is known at the end.
pub(crate) struct End<'e> {
    pub(crate) tables: &'e Tables,
    pub(crate) told: &'e [Told],
    pub(crate) journal: &'e Journal,
}

/// Something that must not be, and whose it is.
#[derive(Debug)]
pub(crate) struct Violation {
    pub(crate) key: Option<String>,
    pub(crate) what: String,
}

/// How many events each check was about. None may be about nothing.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    pub(crate) acked: usize,
    pub(crate) applied: usize,
    pub(crate) lines: usize,
    pub(crate) in_order: usize,
    pub(crate) sent_again: usize,
}

type Verdicts = Result<(), Violation>;

fn violation(key: &str, what: impl Into<String>) -> Violation {
    Violation { key: Some(key.to_owned()), what: what.into() }
}

fn general(what: impl Into<String>) -> Violation {
    Violation { key: None, what: what.into() }
}

impl End<'_> {
    /// All of it; the first thing that is wrong.
    pub(crate) fn check(&self) -> Result<Checked, Violation> {
        let mut checked = Checked::default();
        for told in self.told {
            self.producer(told)?;
            self.event(told, &mut checked)?;
        }
        self.strangers()?;
        self.ledger(&mut checked)?;
        self.entities()?;
        self.order(&mut checked)?;
        match (self.tables.dead, self.tables.messages) {
            (0, 0) => Ok(checked),
            (0, _) => Err(general("the queues never empty")),
            (dead, _) => Err(general(format!("{dead} messages were received a hundred times"))),
        }
    }

    fn row(&self, told: &Told) -> Option<&Item> {
        self.tables.rows.get(&told.fired.key)
    }

    fn is_applied(&self, told: &Told) -> bool {
        self.row(told).is_some_and(|row| string(row, "outcome") == "applied")
    }

    /// No fault of ours ends a delivery in its producer's eyes.
    fn producer(&self, told: &Told) -> Verdicts {
        let blamed = matches!(told.ended, Some(Verdict::Terminal { .. }));
        let deserved = told.fired.does == Does::Unusable && told.fired.producer == Producer::Kudos;
        let last = told.deliveries.last().map_or(0, |delivery| delivery.1);
        match blamed {
            true if !deserved => {
                Err(violation(&told.fired.key, format!("was refused for good, with {last}")))
            }
            true if last != 400 => {
                Err(violation(&told.fired.key, format!("is unusable and was answered {last}")))
            }
            _ => Ok(()),
        }
    }

    fn event(&self, told: &Told, checked: &mut Checked) -> Verdicts {
        let key = &told.fired.key;
        checked.acked += usize::from(told.acked);
        let heard = told.acked || told.ended.is_some_and(|end| end != Verdict::GivenUp);
        let Some(row) = self.row(told) else {
            return match heard {
                true => Err(violation(key, "was accepted and is gone")),
                false => Ok(()),
            };
        };
        if is_unfinished(row) {
            return Err(violation(key, "was accepted and is forgotten"));
        }
        self.ended_well(told, row)?;
        self.is_kept(key, row)?;
        let seen = self.journal.seen(key);
        self.took_effect_once(told, row, &seen)?;
        checked.applied += usize::from(self.is_applied(told));
        checked.sent_again += usize::from(seen.messages.len() > 1);
        self.is_bounded(told, row, &seen)
    }

    fn ended_well(&self, told: &Told, row: &Item) -> Verdicts {
        let (status, outcome) = (string(row, "status"), string(row, "outcome"));
        let kind = string(row, "error_kind");
        let failed = status == "failed" && kind == "exhausted";
        let expected = match told.fired.does {
            Does::Nothing => status == "ignored" || failed,
            Does::Unusable => status == "failed" && kind == "unusable",
            // Each of these leaves what came after it alone.
            Does::Session { .. } | Does::Fetch { .. } | Does::Upgrade => {
                failed || (status == "done" && matches!(outcome, "applied" | "stale"))
            }
            // `already_applied` would be a second commit that only the handler's key has stopped.
            _ => failed || (status == "done" && outcome == "applied"),
        };
        if expected { Ok(()) } else { Err(violation(&told.fired.key, "ended as it should not")) }
    }

    /// What has failed is listed and kept, with its body; what is finished expires.
    fn is_kept(&self, key: &str, row: &Item) -> Verdicts {
        let failed = string(row, "status") == "failed";
        let unusable = string(row, "error_kind") == "unusable";
        if failed != self.tables.listed.iter().any(|listed| listed == key) {
            return Err(violation(key, "failed and not listed, or listed and not failed"));
        }
        if row.contains_key("expires_at") != (!failed || unusable) {
            return Err(violation(key, "expires and must not, or the other way round"));
        }
        let parts = number(row, "body_parts");
        let body = format!("~body#{}#", string(row, "receipt"));
        let there = self.tables.bodies.iter().filter(|item| item.starts_with(&body)).count();
        if usize::try_from(parts) != Ok(there) {
            return Err(violation(key, format!("has {there} of {parts} parts of its body")));
        }
        Ok(())
    }

    fn took_effect_once(&self, told: &Told, row: &Item, seen: &Seen) -> Verdicts {
        let key = &told.fired.key;
        let effects = usize::from(string(row, "outcome") == "applied");
        if seen.commits.len() != effects {
            let commits = seen.commits.len();
            return Err(violation(key, format!("took effect {commits} times")));
        }
        Ok(())
    }

    fn is_bounded(&self, told: &Told, row: &Item, seen: &Seen) -> Verdicts {
        let key = &told.fired.key;
        let (attempts, most) = (number(row, "attempts"), told.fired.producer.attempts_max());
        // The claim that finds them used up is one more, and runs nothing.
        let most = i64::from(most) + i64::from(string(row, "status") == "failed");
        if attempts > most {
            return Err(violation(key, format!("was tried {attempts} times")));
        }
        let lived = number(row, "finished_at") - number(row, "received_at");
        let periods = usize::try_from(lived / DUE_MS).unwrap_or(0);
        let requests = told.deliveries.len() + seen.unheard as usize;
        let sends = seen.messages.len();
        if sends > 1 + requests + periods {
            return Err(violation(key, format!("was sent {sends} times in {periods} periods")));
        }
        Ok(())
    }

    /// Every row is an event that somebody has fired.
    fn strangers(&self) -> Verdicts {
        let known: BTreeSet<&String> = self.told.iter().map(|told| &told.fired.key).collect();
        match self.tables.rows.keys().find(|key| !known.contains(key)) {
            Some(stranger) => Err(violation(stranger, "was never fired")),
            None => Ok(()),
        }
    }

    /// The lines, the totals and the events agree to the cent.
    fn ledger(&self, checked: &mut Checked) -> Verdicts {
        let mut owed: BTreeMap<String, (i64, i64)> = BTreeMap::new();
        let mut lines = BTreeSet::new();
        for told in self.told {
            let key = &told.fired.key;
            let (account, line, amount) = match &told.fired.does {
                Does::Pay { tenant, cents } => {
                    let id = key.split_once('#').map_or("", |(_, id)| id);
                    (format!("kudos#{tenant}"), format!("payment#{id}"), Some(*cents))
                }
                Does::Note { line } => ("kudos#replays".to_owned(), line.clone(), None),
                _ => continue,
            };
            let item = self.tables.business.get(&(account.clone(), line.clone()));
            if self.is_applied(told) != item.is_some() {
                return Err(violation(key, "row and ledger line disagree"));
            }
            let (Some(item), Some(cents)) = (item, amount) else { continue };
            if number(item, "amount_cents") != cents {
                return Err(violation(key, "the ledger line is wrong"));
            }
            checked.lines += 1;
            lines.insert((account.clone(), line));
            let sums = owed.entry(account).or_default();
            *sums = (sums.0 + 1, sums.1 + cents);
        }
        let extra = self
            .tables
            .business
            .keys()
            .find(|key| key.1.starts_with("payment#") && !lines.contains(*key));
        if let Some((account, line)) = extra {
            return Err(general(format!("{account} {line}: a line that no event has made")));
        }
        self.totals(&owed)
    }

    fn totals(&self, owed: &BTreeMap<String, (i64, i64)>) -> Verdicts {
        for (account, sums) in owed {
            let totals = self.tables.business.get(&(account.clone(), "totals".to_owned()));
            let seen =
                totals.map(|totals| (number(totals, "payments"), number(totals, "paid_cents")));
            if seen != Some(*sums) {
                return Err(general(format!(
                    "{account}: the lines sum up to {sums:?}, totals {seen:?}"
                )));
            }
        }
        Ok(())
    }

    /// Entities show the newest of the events that ended well.
    fn entities(&self) -> Verdicts {
        let done = |told: &&Told| self.row(told).is_some_and(|row| string(row, "status") == "done");
        let mut sessions: BTreeMap<&str, ((i64, i64), BTreeSet<&str>)> = BTreeMap::new();
        let mut products: BTreeMap<&str, &Told> = BTreeMap::new();
        for told in self.told.iter().filter(done) {
            match &told.fired.does {
                Does::Session { session, status, at } => {
                    let newest = sessions.entry(session).or_insert((*at, BTreeSet::new()));
                    if *at > newest.0 {
                        *newest = (*at, BTreeSet::new());
                    }
                    if *at == newest.0 {
                        newest.1.insert(status);
                    }
                }
                Does::Fetch { product, .. } => {
                    let last = products.entry(product).or_insert(told);
                    if told.change > last.change {
                        *last = told;
                    }
                }
                _ => {}
            }
        }
        for (session, (at, statuses)) in sessions {
            let key = (format!("kallglot#{session}"), "state".to_owned());
            let item = self.tables.business.get(&key);
            let newest = item.is_some_and(|item| {
                (number(item, "last_event_at"), number(item, "last_event_rank")) == at
                    && statuses.contains(string(item, "status"))
            });
            if !newest {
                let item = item.map(shown);
                return Err(general(format!("{session} is not at its newest, {at:?}: {item:?}")));
            }
        }
        products.into_iter().try_for_each(|(product, last)| self.product(product, last))
    }

    /// A product shows what it was last changed to, once the event of that change is done.
    fn product(&self, product: &str, last: &Told) -> Verdicts {
        let changes = self.told.iter().filter(|told| {
            matches!(&told.fired.does, Does::Fetch { product: other, .. } if other == product)
        });
        let newest = changes.max_by_key(|told| told.change);
        if newest.is_none_or(|newest| newest.fired.key != last.fired.key) {
            return Ok(());
        }
        let Does::Fetch { name, .. } = &last.fired.does else { return Ok(()) };
        let item = self.tables.business.get(&(format!("apiera#{product}"), "product".to_owned()));
        match item.is_some_and(|item| string(item, "name") == name) {
            true => Ok(()),
            false => Err(violation(
                &last.fired.key,
                format!("changed {product}, which shows {:?}", item.map(shown)),
            )),
        }
    }

    /// Of one type, ends follow the order of the sends, but for what failed or was sent again.
    fn order(&self, checked: &mut Checked) -> Verdicts {
        let mut by_type: BTreeMap<&str, Vec<(u64, u32, &str)>> = BTreeMap::new();
        for told in self.told.iter().filter(|told| told.fired.producer == Producer::Kudos) {
            let seen = self.journal.seen(&told.fired.key);
            let failed = self.row(told).is_none_or(|row| string(row, "status") == "failed");
            if let (Some(sent), Some(end)) = (seen.first_send, seen.end)
                && seen.messages.len() == 1
                && !failed
            {
                let plain = by_type.entry(&told.fired.event_type).or_default();
                plain.push((sent, end, &told.fired.key));
            }
        }
        for (event_type, mut events) in by_type {
            events.sort_unstable();
            checked.in_order += events.len();
            if let Some(wrong) = events.windows(2).find(|pair| pair[0].1 > pair[1].1) {
                let (first, second) = (wrong[0].2, wrong[1].2);
                let what = format!("{event_type}: was sent before {second}, and ended after");
                return Err(violation(first, what));
            }
        }
        Ok(())
    }
}
