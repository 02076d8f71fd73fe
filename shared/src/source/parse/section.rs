//! Reading a table key by key, noting what is wrong instead of stopping at it.

use std::cell::RefCell;
use std::collections::BTreeSet;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Mistake;

/// The text being read, and the mistakes found in it so far.
pub(super) struct Reader<'a> {
    text: &'a str,
    mistakes: RefCell<Vec<Mistake>>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, mistakes: RefCell::default() }
    }

    /// Notes a mistake at a byte offset.
    pub(super) fn mistake(&self, at: usize, what: String) {
        let line = self.text.bytes().take(at).filter(|b| *b == b'\n').count() + 1;
        self.mistakes.borrow_mut().push(Mistake { line, what });
    }

    pub(super) fn is_clean(&self) -> bool {
        self.mistakes.borrow().is_empty()
    }

    pub(super) fn finish(self) -> Result<(), Vec<Mistake>> {
        let mut mistakes = self.mistakes.into_inner();
        mistakes.sort_by_key(|m| m.line);
        if mistakes.is_empty() { Ok(()) } else { Err(mistakes) }
    }
}

/// One table, on top of the table of a preset. Keys that nobody asked for are mistakes, too.
pub(super) struct Section<'a> {
    reader: &'a Reader<'a>,
    path: String,
    at: usize,
    table: &'a DeTable<'a>,
    preset: Option<&'a DeTable<'a>>,
    asked: RefCell<BTreeSet<&'static str>>,
}

impl<'a> Section<'a> {
    pub(super) fn root(reader: &'a Reader<'a>, table: &'a DeTable<'a>) -> Self {
        let path = String::new();
        Self { reader, path, at: 0, table, preset: None, asked: RefCell::default() }
    }

    /// The same table; what is not in it is taken from `preset`.
    pub(super) fn on(self, preset: Option<&'a DeTable<'a>>) -> Self {
        Self { preset, ..self }
    }

    /// The table below this one that is called `key`, as it stands.
    pub(super) fn table(&self, key: &'static str) -> Option<&'a DeTable<'a>> {
        self.asked.borrow_mut().insert(key);
        self.table.get(key)?.get_ref().as_table()
    }

    /// The last part of the table's name.
    pub(super) fn name(&self) -> &str {
        self.path.rsplit('.').next().unwrap_or_default()
    }

    /// Notes a mistake of the whole table.
    pub(super) fn mistake(&self, what: String) {
        self.reader.mistake(self.at, what);
    }

    /// Notes a mistake at a key.
    pub(super) fn mistake_at(&self, key: &str, what: String) {
        let at = self.find(key).map_or(self.at, |value| value.span().start);
        self.reader.mistake(at, format!("{}.{key}: {what}", self.path));
    }

    /// Every key as a table.
    pub(super) fn sections(&self) -> impl Iterator<Item = Section<'a>> {
        let table = self.table;
        table.iter().filter_map(|(key, value)| {
            let at = key.span().start;
            let Some(table) = value.get_ref().as_table() else {
                self.reader.mistake(at, format!("{}: must be a table", key.get_ref()));
                return None;
            };
            let path = key.get_ref().to_string();
            let asked = RefCell::default();
            Some(Self { reader: self.reader, path, at, table, preset: None, asked })
        })
    }

    /// A table that must be there.
    pub(super) fn section(&self, key: &'static str) -> Option<Self> {
        if self.find(key).is_none() {
            self.mistake(format!("[{}.{key}] is missing", self.path));
        }
        self.optional_section(key)
    }

    /// A table that may be there.
    pub(super) fn optional_section(&self, key: &'static str) -> Option<Self> {
        let value = self.ask(key)?;
        let Some(table) = value.get_ref().as_table() else {
            self.mistake_at(key, "must be a table".into());
            return None;
        };
        let (path, at) = (format!("{}.{key}", self.path), value.span().start);
        let preset = self.preset.and_then(|preset| preset.get(key)?.get_ref().as_table());
        Some(Self { reader: self.reader, path, at, table, preset, asked: RefCell::default() })
    }

    /// Reads this table with `read`, then refuses what is left in it.
    pub(super) fn whole<T>(self, read: impl FnOnce(&Self) -> Option<T>) -> Option<T> {
        let read = read(&self);
        self.finish();
        read
    }

    /// Refuses the keys that nobody asked for.
    pub(super) fn finish(self) {
        let asked = self.asked.borrow();
        for key in self.table.keys().filter(|key| !asked.contains(key.get_ref().as_ref())) {
            let known = asked.iter().copied().collect::<Vec<_>>().join(", ");
            let what = format!("{}.{}: not known here; known: {known}", self.path, key.get_ref());
            self.reader.mistake(key.span().start, what);
        }
    }

    /// A text that must be there.
    pub(super) fn text(&self, key: &'static str) -> Option<String> {
        self.parsed(key, |text| Ok(text.to_owned()))
    }

    /// A text that must be there, read by `parse`.
    pub(super) fn parsed<T>(
        &self,
        key: &'static str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        if self.ask(key).is_none() {
            self.mistake(format!("{}.{key} is missing", self.path));
        }
        self.optional(key, parse)
    }

    /// A text that may be there, read by `parse`.
    pub(super) fn optional<T>(
        &self,
        key: &'static str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        let value = self.ask(key)?.get_ref();
        let parsed = value.as_str().ok_or("must be a text".to_owned()).and_then(parse);
        parsed.map_err(|what| self.mistake_at(key, what)).ok()
    }

    /// One of a few words, each standing for a value.
    pub(super) fn word<T: Copy>(&self, key: &'static str, words: &[(&str, T)]) -> Option<T> {
        self.parsed(key, |text| {
            let found = words.iter().find(|(word, _)| *word == text);
            found.map(|(_, value)| *value).ok_or_else(|| {
                let known: Vec<_> = words.iter().map(|(word, _)| format!("{word:?}")).collect();
                format!("{text:?} is none of {}", known.join(", "))
            })
        })
    }

    /// A whole number in a range, both ends included.
    pub(super) fn number(&self, key: &'static str, least: u32, most: u32) -> Option<u32> {
        let Some(value) = self.ask(key) else {
            self.mistake(format!("{}.{key} is missing", self.path));
            return None;
        };
        let number = value.get_ref().as_integer().and_then(|i| i.as_str().parse().ok());
        let fits = number.filter(|n| (least..=most).contains(n));
        if fits.is_none() {
            self.mistake_at(key, format!("must be a whole number from {least} to {most}"));
        }
        fits
    }

    /// True or false; false when missing.
    pub(super) fn flag(&self, key: &'static str) -> bool {
        let Some(value) = self.ask(key) else { return false };
        value.get_ref().as_bool().unwrap_or_else(|| {
            self.mistake_at(key, "must be true or false".into());
            false
        })
    }

    /// A list of texts; empty when missing.
    pub(super) fn list(&self, key: &'static str) -> Vec<String> {
        let Some(value) = self.ask(key) else { return vec![] };
        let texts = value.get_ref().as_array().and_then(|array| {
            array.iter().map(|v| v.get_ref().as_str().map(str::to_owned)).collect()
        });
        texts.unwrap_or_else(|| {
            self.mistake_at(key, "must be a list of texts".into());
            vec![]
        })
    }

    /// Every key of this table with its text, read by `parse`.
    pub(super) fn pairs<T>(&self, parse: impl Fn(&str) -> Result<T, String>) -> Vec<(String, T)> {
        let pairs = self.table.iter().filter_map(|(key, value)| {
            let text = value.get_ref().as_str().ok_or("must be a text".to_owned());
            let parsed = text.and_then(&parse).map_err(|what| self.mistake_at(key.get_ref(), what));
            Some((key.get_ref().to_string(), parsed.ok()?))
        });
        pairs.collect()
    }

    fn ask(&self, key: &'static str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.asked.borrow_mut().insert(key);
        self.find(key)
    }

    fn find(&self, key: &str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.table.get(key).or_else(|| self.preset?.get(key))
    }
}
