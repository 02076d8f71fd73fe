//! Signing secrets in Secrets Manager: `<prefix>/<source>` holds `{"secrets":["newest","older"]}`.
//!
//! A change is written beside the current version first, and becomes current only if that is still
//! the version it was made from: two people who change one secret at a time do not undo each other.

use aws_sdk_secretsmanager::Client;
use aws_sdk_secretsmanager::error::SdkError;
use aws_sdk_secretsmanager::operation::get_secret_value::{
    GetSecretValueError, GetSecretValueOutput,
};
use aws_sdk_secretsmanager::operation::update_secret_version_stage::UpdateSecretVersionStageError;
use serde::Deserialize;
use shared::fault::Fault;
use shared::key::SourceName;

use super::text::SecretText;
use crate::place::Place;

const CURRENT: &str = "AWSCURRENT";
const PREVIOUS: &str = "AWSPREVIOUS";
/// On a version that is about to become current.
const CHANGE: &str = "inbox-change";

/// The signing secrets of one inbox.
#[derive(Clone, Debug)]
pub(crate) struct Vault {
    client: Client,
    prefix: String,
}

/// What is kept for a source.
#[derive(Clone, Debug)]
pub(crate) enum Kept {
    /// No secret of its name.
    Nothing,
    /// It is marked for deletion: nobody can read it.
    Deleted,
    /// Its value is not `{"secrets":["…"]}`.
    Unreadable {
        /// The version that holds it.
        version: String,
    },
    /// A list of secrets, good or bad.
    List(List),
}

/// A list of secrets, and the version that holds it.
#[derive(Clone, Debug)]
pub(crate) struct List {
    pub(crate) version: String,
    /// The newest first.
    pub(crate) secrets: Vec<SecretText>,
    /// When this version was written, in Unix seconds.
    pub(crate) written_at: Option<i64>,
}

/// What became of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Changed {
    /// It is current.
    Done,
    /// Somebody else has changed the secret since it was read; nothing was done.
    Overtaken,
}

impl Vault {
    /// The secrets of this place.
    pub(crate) fn of(place: &Place) -> Self {
        Self { client: place.clients.secrets.clone(), prefix: place.secrets_prefix.clone() }
    }

    /// The secret's name in Secrets Manager.
    pub(crate) fn name(&self, source: &SourceName) -> String {
        format!("{}/{source}", self.prefix)
    }

    /// What is current.
    ///
    /// # Errors
    /// The store did not answer, or does not let us read.
    pub(crate) async fn current(&self, source: &SourceName) -> Result<Kept, Fault> {
        self.read(source, CURRENT).await
    }

    /// What was current before the last change.
    ///
    /// # Errors
    /// As for [`current`](Self::current).
    pub(crate) async fn previous(&self, source: &SourceName) -> Result<Kept, Fault> {
        self.read(source, PREVIOUS).await
    }

    async fn read(&self, source: &SourceName, stage: &str) -> Result<Kept, Fault> {
        let call = self.client.get_secret_value().secret_id(self.name(source));
        match call.version_stage(stage).send().await {
            Ok(answer) => Ok(Kept::read(answer)),
            Err(error) => match error.as_service_error() {
                Some(GetSecretValueError::ResourceNotFoundException(_)) => Ok(Kept::Nothing),
                Some(GetSecretValueError::InvalidRequestException(_)) => Ok(Kept::Deleted),
                _ => Err(Fault::of("GetSecretValue", &error)),
            },
        }
    }

    /// Makes the secret of a source that has none.
    ///
    /// # Errors
    /// The store did not take it.
    pub(crate) async fn create(
        &self,
        source: &SourceName,
        secrets: &[SecretText],
    ) -> Result<(), Fault> {
        let call = self.client.create_secret().name(self.name(source));
        let call = call.description("Signing secret of a webhook producer.");
        let made = call.secret_string(document(secrets)).send().await;
        made.map(drop).map_err(|error| Fault::of("CreateSecret", &error))
    }

    /// Puts these secrets in the place of what `version` holds, if that is still current.
    ///
    /// # Errors
    /// The store did not do it, or did not say.
    pub(crate) async fn change(
        &self,
        source: &SourceName,
        version: &str,
        secrets: &[SecretText],
    ) -> Result<Changed, Fault> {
        let name = self.name(source);
        let call = self.client.put_secret_value().secret_id(&name).version_stages(CHANGE);
        let written = call.secret_string(document(secrets)).send().await;
        let written = written.map_err(|error| Fault::of("PutSecretValue", &error))?;
        let new = written.version_id.unwrap_or_default();
        let call = self.client.update_secret_version_stage().secret_id(&name);
        let call = call.version_stage(CURRENT).remove_from_version_id(version);
        let moved = call.move_to_version_id(&new).send().await;
        // A version without a label is forgotten by the store; one that stays does no harm.
        let call = self.client.update_secret_version_stage().secret_id(&name);
        let _ = call.version_stage(CHANGE).remove_from_version_id(&new).send().await;
        match moved {
            Ok(_) => Ok(Changed::Done),
            Err(error) if was_overtaken(&error) => self.overtaken(source, &new).await,
            Err(error) => Err(Fault::of("UpdateSecretVersionStage", &error)),
        }
    }

    /// A call whose answer was lost is repeated by the SDK, and then finds its own version current.
    async fn overtaken(&self, source: &SourceName, new: &str) -> Result<Changed, Fault> {
        let current = self.current(source).await?;
        Ok(if current.version() == Some(new) { Changed::Done } else { Changed::Overtaken })
    }
}

fn was_overtaken<R>(error: &SdkError<UpdateSecretVersionStageError, R>) -> bool {
    let refused = error.as_service_error();
    refused.is_some_and(UpdateSecretVersionStageError::is_invalid_parameter_exception)
}

impl Kept {
    fn read(answer: GetSecretValueOutput) -> Self {
        let version = answer.version_id.unwrap_or_default();
        let Some(secrets) = answer.secret_string.as_deref().and_then(read) else {
            return Self::Unreadable { version };
        };
        let written_at = answer.created_date.map(|at| at.secs());
        Self::List(List { version, secrets, written_at })
    }

    /// The version that is current, where there is one to change.
    pub(crate) fn version(&self) -> Option<&str> {
        match self {
            Self::List(list) => Some(&list.version),
            Self::Unreadable { version } => Some(version),
            Self::Nothing | Self::Deleted => None,
        }
    }

    /// The secrets, as far as there is a list of them.
    pub(crate) fn secrets(&self) -> &[SecretText] {
        match self {
            Self::List(list) => &list.secrets,
            Self::Nothing | Self::Deleted | Self::Unreadable { .. } => &[],
        }
    }
}

/// The secrets in a value, good or bad; nothing if it is not of the form.
pub(crate) fn read(value: &str) -> Option<Vec<SecretText>> {
    #[derive(Deserialize)]
    struct Document {
        secrets: Vec<String>,
    }
    let Document { secrets } = serde_json::from_str(value).ok()?;
    Some(secrets.into_iter().map(SecretText::new).collect())
}

/// The value as the functions read it.
pub(crate) fn document(secrets: &[SecretText]) -> String {
    let texts: Vec<&str> = secrets.iter().map(SecretText::reveal).collect();
    serde_json::json!({ "secrets": texts }).to_string()
}
