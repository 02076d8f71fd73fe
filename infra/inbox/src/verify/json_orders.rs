//! One JSON text with its keys in other orders, and its numbers with other zeros: what a text that
//! was sorted or rounded on its way no longer tells.

use std::fmt;

use super::json::{Style, Tree};

/// So many orders are tried, and all of them together may weigh so much.
const ORDERS_MAX: usize = 20_000;
const ORDERS_BYTES_MAX: usize = 40 * 1024 * 1024;
/// So many numbers are looked at.
const NUMBERS_MAX: usize = 12;

/// What a style alone does not bring about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Rewrite {
    /// Keys in this order at the top level, and perhaps others below it.
    Order(Vec<String>),
    /// Numbers with zeros after the point that are gone.
    Zeros,
    /// Both.
    OrderAndZeros(Vec<String>),
}

impl Rewrite {
    fn with_zeros(self) -> Self {
        match self {
            Self::Order(keys) => Self::OrderAndZeros(keys),
            zeros => zeros,
        }
    }
}

impl fmt::Display for Rewrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Order(keys) => write!(f, "with its keys in another order: {}", keys.join(", ")),
            Self::OrderAndZeros(keys) => write!(
                f,
                "with its keys in another order: {}; and with zeros behind the point of a number",
                keys.join(", ")
            ),
            Self::Zeros => f.write_str("with zeros behind the point of a number (1.0, 1.50)"),
        }
    }
}

/// Every text that the tree may have been, in the usual styles.
pub(super) fn rewrites(tree: &Tree<'_>) -> Vec<(Rewrite, String)> {
    let mut found = vec![];
    let weight = Style::USUAL.len() * tree.write(Style::PLAIN[0]).len().max(1);
    let most = ORDERS_MAX.min(ORDERS_BYTES_MAX / weight);
    let zeros = zeros(tree);
    let orders = orders(tree, most);
    // Both at once, while they are few.
    let both = (zeros.len() * orders.len() <= most).then_some(&zeros);
    let both = both.into_iter().flatten().flat_map(|(_, tree)| self::orders(tree, most));
    let both: Vec<_> = both.map(|(order, tree)| (order.with_zeros(), tree)).collect();
    for (rewrite, tree) in zeros.into_iter().chain(orders).chain(both) {
        let texts = Style::USUAL.iter().map(|style| tree.write(*style));
        found.extend(texts.map(|text| (rewrite.clone(), text)));
    }
    found
}

fn orders<'t>(tree: &Tree<'t>, most: usize) -> Vec<(Rewrite, Tree<'t>)> {
    let mut sizes = vec![];
    sizes_of(tree, &mut sizes);
    let all: Option<usize> =
        sizes.iter().try_fold(1_usize, |all, size| all.checked_mul(factorial(*size)?));
    // Where there are too many, only the top level is put in order.
    let (sizes, all) = match (all.filter(|all| *all <= most), sizes.first()) {
        (Some(all), _) => (sizes.clone(), all),
        (None, Some(top)) => match factorial(*top).filter(|all| *all <= most) {
            Some(all) => (vec![*top], all),
            None => return vec![],
        },
        (None, None) => return vec![],
    };
    let numbered = (1..all).map(|number| {
        let mut digits = Digits { rest: number, sizes: sizes.iter() };
        let tree = reordered(tree, &mut digits);
        (Rewrite::Order(top_keys(&tree)), tree)
    });
    numbered.collect()
}

fn factorial(number: usize) -> Option<usize> {
    (1..=number).try_fold(1_usize, usize::checked_mul)
}

/// How many keys each object has, from the top down.
fn sizes_of(tree: &Tree<'_>, sizes: &mut Vec<usize>) {
    match tree {
        Tree::Plain(_) | Tree::Text(_) => {}
        Tree::List(values) => values.iter().for_each(|value| sizes_of(value, sizes)),
        Tree::Map(entries) => {
            sizes.push(entries.len());
            entries.iter().for_each(|(_, value)| sizes_of(value, sizes));
        }
    }
}

fn top_keys(tree: &Tree<'_>) -> Vec<String> {
    match tree {
        Tree::Map(entries) => {
            entries.iter().map(|(key, _)| key.trim_matches('"').to_owned()).collect()
        }
        Tree::Plain(_) | Tree::Text(_) | Tree::List(_) => vec![],
    }
}

/// A number whose digits say the order of each object.
struct Digits<'s> {
    rest: usize,
    sizes: std::slice::Iter<'s, usize>,
}

impl Digits<'_> {
    /// The order of the next object's keys.
    fn order(&mut self) -> Option<Vec<usize>> {
        let size = *self.sizes.next()?;
        let mut left: Vec<usize> = (0..size).collect();
        let mut order = Vec::with_capacity(size);
        while !left.is_empty() {
            let choices = left.len();
            order.push(left.remove(self.rest % choices));
            self.rest /= choices;
        }
        Some(order)
    }
}

fn reordered<'t>(tree: &Tree<'t>, digits: &mut Digits<'_>) -> Tree<'t> {
    match tree {
        Tree::Plain(text) => Tree::Plain(text.clone()),
        Tree::Text(text) => Tree::Text(text),
        Tree::List(values) => {
            Tree::List(values.iter().map(|value| reordered(value, digits)).collect())
        }
        Tree::Map(entries) => {
            let order = digits.order().unwrap_or_else(|| (0..entries.len()).collect());
            // Objects are numbered as they stand in the text, not as they will.
            let values = entries.iter().map(|(key, value)| (*key, reordered(value, digits)));
            let mut values: Vec<_> = values.map(Some).collect();
            Tree::Map(order.into_iter().filter_map(|at| values[at].take()).collect())
        }
    }
}

/// Each number alone, and all of them, with the zeros behind the point that were dropped.
fn zeros<'t>(tree: &Tree<'t>) -> Vec<(Rewrite, Tree<'t>)> {
    let numbers = with_zeros(tree, &|_| false, &mut 0).1;
    if numbers == 0 || numbers > NUMBERS_MAX {
        return vec![];
    }
    let alone = (0..numbers).map(|only| with_zeros(tree, &|at| at == only, &mut 0).0);
    let all = with_zeros(tree, &|_| true, &mut 0).0;
    alone.chain([all]).map(|tree| (Rewrite::Zeros, tree)).collect()
}

/// The tree with a zero more on the chosen numbers, and how many numbers there are so far.
fn with_zeros<'t>(
    tree: &Tree<'t>,
    chosen: &dyn Fn(usize) -> bool,
    count: &mut usize,
) -> (Tree<'t>, usize) {
    let tree = match tree {
        Tree::Plain(text) if text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) => {
            let whole = !text.contains(['.', 'e', 'E']);
            *count += 1;
            match chosen(*count - 1) {
                true => Tree::Plain(format!("{text}{}", if whole { ".0" } else { "0" }).into()),
                false => Tree::Plain(text.clone()),
            }
        }
        Tree::Plain(text) => Tree::Plain(text.clone()),
        Tree::Text(text) => Tree::Text(text),
        Tree::List(values) => {
            Tree::List(values.iter().map(|value| with_zeros(value, chosen, count).0).collect())
        }
        Tree::Map(entries) => {
            let entries = entries.iter();
            let entries = entries.map(|(key, value)| (*key, with_zeros(value, chosen, count).0));
            Tree::Map(entries.collect())
        }
    };
    (tree, *count)
}
