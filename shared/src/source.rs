//! Producers as data: `sources.toml`, read into checked types.

mod parse;
mod profile;

pub use self::parse::{Mistake, SourcesError};
pub use self::profile::{
    Attempt, Contract, EventRule, Field, Handshake, IdRule, Ordering, Profile, Retries, TypePattern,
};

/// The producers this inbox receives from.
#[derive(Clone, Debug)]
pub struct Sources(Vec<Profile>);

impl Sources {
    /// The file in the tree, compiled in.
    ///
    /// # Errors
    /// Every mistake in it, each with its line. (A test refuses a tree with one.)
    pub fn builtin() -> Result<Self, SourcesError> {
        Self::parse(include_str!("../../infra/sources.toml"))
    }

    /// Reads the text of a `sources.toml`.
    ///
    /// # Errors
    /// Every mistake in it, each with its line.
    pub fn parse(text: &str) -> Result<Self, SourcesError> {
        parse::sources(text).map(Self)
    }

    /// The producer of this name.
    pub fn get(&self, name: &str) -> Option<&Profile> {
        self.0.iter().find(|profile| profile.name.as_str() == name)
    }

    /// All producers, in the file's order of names.
    pub fn iter(&self) -> impl Iterator<Item = &Profile> {
        self.0.iter()
    }
}
