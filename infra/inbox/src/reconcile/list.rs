//! A producer's list of ids, in the forms in which people have one: lines, a table, JSON.

use std::collections::HashSet;

use serde_json::{Deserializer, Value};
use shared::key::EventId;

use super::column::Wanted;

/// The ids of a list.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct List {
    /// Each once, in their order.
    pub(super) ids: Vec<String>,
    /// What the file was taken for.
    pub(super) form: Form,
    /// So many more times an id was there that had been there before.
    pub(super) repeated: usize,
    /// So many entries hold no id.
    pub(super) without: usize,
}

/// What a file was taken for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// An id on each line.
    Lines,
    /// A table with a header, and the column that holds the ids.
    Table(String),
    /// JSON texts.
    Texts,
    /// JSON objects, and the field that holds the ids.
    Objects(String),
}

/// Why a file is no list of ids.
#[derive(Debug, thiserror::Error)]
pub(super) enum ListError {
    /// It begins like JSON.
    #[error("begins like JSON and is none: {0}")]
    Json(#[from] serde_json::Error),
    /// It is a table with broken quotes, or the like.
    #[error("is a table that cannot be read: {0}")]
    Table(#[from] csv::Error),
    /// It has columns or fields, and none is the one.
    #[error("has no {wanted}; it was read as {read}, with {names}")]
    Column {
        /// The column that was looked for.
        wanted: String,
        /// What the file was taken for.
        read: &'static str,
        /// What is there.
        names: String,
    },
    /// Nothing in it can be an id.
    #[error("holds no id; it was read as {0}")]
    Empty(Form),
}

impl std::fmt::Display for Form {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Lines => f.write_str("an id on each line"),
            Self::Table(column) => write!(f, "a table, with the ids in its column {column}"),
            Self::Texts => f.write_str("JSON, each text an id"),
            Self::Objects(field) => write!(f, "JSON objects, with the ids in {field}"),
        }
    }
}

/// Reads a list, whatever its form.
pub(super) fn read(text: &str, wanted: &Wanted<'_>) -> Result<List, ListError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim_start().starts_with(['{', '[']) {
        let values = Deserializer::from_str(text).into_iter().collect::<Result<Vec<Value>, _>>();
        match values {
            Ok(values) => return json(values, wanted),
            // An id may begin with a brace: {3F2504E0-4F89-11D3-9A0C-0305E82C3301}.
            Err(_) if !text.contains('"') => {}
            Err(error) => return Err(error.into()),
        }
    }
    match table(text, wanted)? {
        Some(list) => Ok(list),
        None => lines(text, wanted),
    }
}

/// Each id once; a list in which nothing can be an id is none.
fn list(found: Vec<Option<String>>, form: Form) -> Result<List, ListError> {
    let (entries, mut known) = (found.len(), HashSet::new());
    let found: Vec<String> = found.into_iter().flatten().collect();
    let (without, many) = (entries - found.len(), found.len());
    let ids: Vec<String> = found.into_iter().filter(|id| known.insert(id.clone())).collect();
    if !ids.iter().any(|id| EventId::parse(id).is_ok()) {
        return Err(ListError::Empty(form));
    }
    Ok(List { repeated: many - ids.len(), ids, form, without })
}

fn lines(text: &str, wanted: &Wanted<'_>) -> Result<List, ListError> {
    let mut lines = text.lines().map(bare).filter(|line| !line.is_empty()).peekable();
    let header = lines.peek().and_then(|first| wanted.pick([*first])).is_some();
    if let (Some(name), false) = (wanted.named(), header) {
        let names = "an id on each line and no header".to_owned();
        return Err(ListError::Column { wanted: name.to_owned(), read: "lines", names });
    }
    let ids = lines.skip(usize::from(header)).map(|line| Some(line.to_owned()));
    list(ids.collect(), Form::Lines)
}

/// A line without the white space and the quotes around it.
fn bare(line: &str) -> &str {
    let line = line.trim();
    let quoted = line.strip_suffix(',').unwrap_or(line);
    let inner = ['"', '\'']
        .into_iter()
        .find_map(|quote| quoted.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)));
    inner.map_or(line, str::trim)
}

/// What exports part the fields of a line with.
const DELIMITERS: [u8; 3] = [b',', b';', b'\t'];

/// A table with a header; nothing if the text is none.
fn table(text: &str, wanted: &Wanted<'_>) -> Result<Option<List>, ListError> {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let fields = |delimiter: &u8| records(first, *delimiter).ok()?.into_iter().next();
    let widest = DELIMITERS.iter().filter_map(|d| Some((*d, fields(d)?)));
    let Some((delimiter, header)) = widest.rev().max_by_key(|(_, header)| width(header)) else {
        return Ok(None);
    };
    if width(&header) < 2 {
        return Ok(None);
    }
    let rows = records(text, delimiter)?;
    let Some(column) = wanted.pick(header.iter()) else {
        // Ids may hold commas; lines of one width are a table.
        if wanted.named().is_none() && rows.iter().any(|row| row.len() != header.len()) {
            return Ok(None);
        }
        let read = "a table with a header";
        let names = format!("the columns {}", shown(header.iter()));
        return Err(ListError::Column { wanted: wanted.to_string(), read, names });
    };
    let cell =
        |row: &csv::StringRecord| row.get(column).filter(|id| !id.is_empty()).map(str::to_owned);
    let name = header.get(column).unwrap_or_default().to_owned();
    list(rows.iter().skip(1).map(cell).collect(), Form::Table(name)).map(Some)
}

fn records(text: &str, delimiter: u8) -> Result<Vec<csv::StringRecord>, csv::Error> {
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    reader.records().collect()
}

/// Fields up to the last one that holds something.
fn width(header: &csv::StringRecord) -> usize {
    let filled = header.iter().enumerate().filter(|(_, name)| !name.is_empty());
    filled.last().map_or(0, |(at, _)| at + 1)
}

/// One document, or a document on each line.
fn json(values: Vec<Value>, wanted: &Wanted<'_>) -> Result<List, ListError> {
    let entries: Vec<Value> = values.into_iter().flat_map(|value| opened(value, wanted)).collect();
    if !entries.iter().any(Value::is_object) {
        if let Some(name) = wanted.named() {
            let names = "texts and no fields".to_owned();
            return Err(ListError::Column { wanted: name.to_owned(), read: "JSON", names });
        }
        return list(entries.iter().map(id).collect(), Form::Texts);
    }
    let mut known = HashSet::new();
    let names = entries.iter().flat_map(fields).filter(|name| known.insert(name.clone()));
    let names: Vec<String> = names.collect();
    let picked = wanted.pick(names.iter().map(String::as_str)).map(|at| names[at].clone());
    let deep = || wanted.named().filter(|name| entries.iter().any(|e| at(e, name).is_some()));
    let Some(field) = picked.or_else(|| deep().map(str::to_owned)) else {
        let names = format!("the fields {}", shown(names.iter().map(String::as_str)));
        return Err(ListError::Column { wanted: wanted.to_string(), read: "JSON objects", names });
    };
    let found = entries.iter().map(|entry| at(entry, &field).and_then(id));
    list(found.collect(), Form::Objects(field))
}

/// The entries of an array, or of the array that an object without an id of its own holds.
fn opened(value: Value, wanted: &Wanted<'_>) -> Vec<Value> {
    match value {
        Value::Array(entries) => entries,
        Value::Object(mut members) => {
            let page = Value::Object(members.clone());
            let own = match wanted.named() {
                Some(name) => at(&page, name).is_some(),
                None => wanted.pick(members.keys().map(String::as_str)).is_some(),
            };
            let list = members.values_mut().find_map(Value::as_array_mut).filter(|_| !own);
            list.map_or_else(|| vec![page], std::mem::take)
        }
        other => vec![other],
    }
}

/// The names of an entry's fields, and of theirs: `event`, `event.id`.
fn fields(entry: &Value) -> Vec<String> {
    let Value::Object(members) = entry else { return vec![] };
    let below = |name: &str, value: &Value| match value {
        Value::Object(inner) => inner.keys().map(|key| format!("{name}.{key}")).collect(),
        _ => vec![],
    };
    let names = members
        .iter()
        .flat_map(|(name, value)| std::iter::once(name.clone()).chain(below(name, value)));
    names.collect()
}

/// The field of this name, or at the end of this path.
fn at<'v>(entry: &'v Value, name: &str) -> Option<&'v Value> {
    entry.get(name).or_else(|| name.split('.').try_fold(entry, |value, name| value.get(name)))
}

/// A text, or a whole number that kept all its digits.
fn id(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()).filter(|text| !text.trim().is_empty()),
        Value::Number(number) if !number.is_f64() => Some(number.to_string()),
        _ => None,
    }
}

/// So many names are shown.
const SHOWN_MAX: usize = 12;

fn shown<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let mut shown: Vec<String> = names.map(cut).collect();
    let more = shown.split_off(SHOWN_MAX.min(shown.len())).len();
    shown.extend((more > 0).then(|| format!("and {more} more")));
    shown.join(", ")
}

/// Names are short; what is long is none.
fn cut(name: &str) -> String {
    let line = name.lines().next().unwrap_or_default();
    match line.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests;
