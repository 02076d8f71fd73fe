//! Secrets as the secret store has them, remembered for a minute.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::Mutex;

use super::{SecretSet, SecretSetError};
use crate::fault::Fault;
use crate::key::SourceName;
use crate::limits::{SECRETS_FRESH, SECRETS_REFRESH_MIN, SECRETS_STALE, SECRETS_TIMEOUT};
use crate::source::{Profile, Sources};
use crate::time::Timestamp;

/// Why there is no secret to verify with: always our fault, never the producer's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretsFault {
    /// The store did not give the secret, and there is no recent copy.
    #[error(transparent)]
    Unread(#[from] Fault),
    /// The stored value holds no usable secret.
    #[error("secret of the source: {0}")]
    Malformed(#[from] SecretSetError),
    /// None of the secrets made the signature, but one that is stored cannot be decoded: it might
    /// have.
    #[error("one of the source's two secrets cannot be decoded")]
    Incomplete,
}

/// Secrets of one source, and when the store gave them.
#[derive(Clone, Debug)]
pub struct SecretsFor {
    /// What the store held.
    pub set: Arc<SecretSet>,
    /// When it was read.
    pub read_at: Timestamp,
}

/// The secret store: `<prefix>/<source>` in AWS Secrets Manager.
#[derive(Debug)]
pub struct Secrets {
    client: aws_sdk_secretsmanager::Client,
    prefix: String,
    remembered: HashMap<SourceName, Mutex<Remembered>>,
}

#[derive(Debug, Default)]
struct Remembered {
    last: Option<SecretsFor>,
    tried_at: Option<Timestamp>,
}

impl Secrets {
    /// A store for these sources; reads nothing yet.
    pub fn new(client: aws_sdk_secretsmanager::Client, prefix: &str, sources: &Sources) -> Self {
        let remembered = sources.iter().map(|p| (p.name.clone(), Mutex::default())).collect();
        Self { client, prefix: prefix.to_owned(), remembered }
    }

    /// The source's secrets: a copy up to a minute old, or up to 15 minutes while the store is down.
    ///
    /// # Errors
    /// No copy and the store did not answer, or what it answered is no secret. A failure is never
    /// remembered in the place of a value.
    pub async fn of(&self, profile: &Profile, now: Timestamp) -> Result<SecretsFor, SecretsFault> {
        let Some(slot) = self.remembered.get(&profile.name) else {
            return self.read(profile, now).await;
        };
        let mut slot = slot.lock().await;
        let stale = match &slot.last {
            Some(last) if now.since(last.read_at) < SECRETS_FRESH => return Ok(last.clone()),
            Some(last) if now.since(last.read_at) < SECRETS_STALE => Some(last.clone()),
            _ => None,
        };
        let just_tried = slot.tried_at.is_some_and(|at| now.since(at) < SECRETS_REFRESH_MIN);
        match stale {
            Some(stale) if just_tried => Ok(stale),
            Some(stale) => Ok(self.read_into(&mut slot, profile, now).await.unwrap_or(stale)),
            None => self.read_into(&mut slot, profile, now).await,
        }
    }

    /// The source's secrets as the store has them now, for a signature that none of `seen` made. A
    /// copy read within the last seconds is as good as a read.
    ///
    /// # Errors
    /// The store did not answer now, or a moment ago.
    pub async fn reread(
        &self,
        profile: &Profile,
        now: Timestamp,
    ) -> Result<SecretsFor, SecretsFault> {
        let Some(slot) = self.remembered.get(&profile.name) else {
            return self.read(profile, now).await;
        };
        let mut slot = slot.lock().await;
        match &slot.last {
            Some(last) if now.since(last.read_at) < SECRETS_REFRESH_MIN => Ok(last.clone()),
            Some(_) if slot.tried_at.is_some_and(|at| now.since(at) < SECRETS_REFRESH_MIN) => {
                Err(Fault::out_of_time("GetSecretValue").into())
            }
            _ => self.read_into(&mut slot, profile, now).await,
        }
    }

    /// A secret of the source that is not a signing secret, as the store has it: `<prefix>/<source>/<name>`.
    ///
    /// # Errors
    /// The store did not give it.
    pub async fn text(&self, source: &SourceName, name: &str) -> Result<String, Fault> {
        self.fetch(format!("{}/{source}/{name}", self.prefix)).await
    }

    async fn read_into(
        &self,
        slot: &mut Remembered,
        profile: &Profile,
        now: Timestamp,
    ) -> Result<SecretsFor, SecretsFault> {
        slot.tried_at = Some(now);
        let read = self.read(profile, now).await;
        if let Ok(read) = &read {
            slot.last = Some(read.clone());
        }
        read
    }

    async fn read(&self, profile: &Profile, now: Timestamp) -> Result<SecretsFor, SecretsFault> {
        let text = self.fetch(format!("{}/{}", self.prefix, profile.name)).await?;
        let set = SecretSet::parse(&text, profile.scheme.secret)?;
        if set.is_incomplete() {
            tracing::error!(source = %profile.name, "one of the two secrets cannot be decoded");
        }
        Ok(SecretsFor { set: Arc::new(set), read_at: now })
    }

    async fn fetch(&self, id: String) -> Result<String, Fault> {
        const READ: &str = "GetSecretValue";
        let call = self.client.get_secret_value().secret_id(id).send();
        let answer = tokio::time::timeout(SECRETS_TIMEOUT, call)
            .await
            .map_err(|_| Fault::out_of_time(READ))?
            .map_err(|error| Fault::of(READ, &error))?;
        answer.secret_string.ok_or(Fault::Refused {
            operation: READ,
            code: "the secret is binary, not text".into(),
        })
    }
}
