//! The embedded services with everything in them that the template and an operator would have made:
//! tables, queues, secrets.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_dynamodb::config::{Credentials, SharedCredentialsProvider, SharedHttpClient};
use aws_types::service_config::{LoadServiceConfig, ServiceConfigKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use shared::aws::{CallBudget, Clients};
use shared::secret::SecretRule;
use shared::source::{Profile, Sources};

use crate::apiera::{FakeApiera, Options};
use crate::engines::{Database, Engines, EnginesError};
use crate::provision::{ProvisionError, Resources, provision};
use crate::template::{Template, TemplateError};

/// What the functions' `SECRETS_PREFIX` is here, as the template would set it.
pub const SECRETS_PREFIX: &str = "local";

/// Why the embedded services could not be made ready.
#[derive(Debug, thiserror::Error)]
pub enum CloudError {
    /// The engines did not start.
    #[error(transparent)]
    Engines(#[from] EnginesError),
    /// `template.yaml` cannot be read.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// Tables or queues could not be made.
    #[error(transparent)]
    Provision(#[from] ProvisionError),
    /// The folder or a file in it cannot be written, or no port can be had.
    #[error("{what}")]
    Io {
        /// What was tried.
        what: String,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
    /// A secret could not be put into the embedded store.
    #[error("secret {0} was not taken by the embedded store")]
    Secret(String),
}

/// Embedded AWS, provisioned.
pub struct Cloud {
    /// The services themselves.
    pub engines: Engines,
    /// What the template made.
    pub resources: Resources,
    /// The API that Apiera's handlers call.
    pub apiera: FakeApiera,
}

impl Cloud {
    /// Starts the services, on a database in `data` or in memory, and makes what the template says.
    ///
    /// # Errors
    /// Any of it failed.
    pub async fn start(
        data: Option<&Path>,
        sources: &Sources,
        apiera: Options,
    ) -> Result<Self, CloudError> {
        let database = match data {
            None => Database::Memory,
            Some(folder) => {
                let what = format!("cannot make the folder {}", folder.display());
                std::fs::create_dir_all(folder)
                    .map_err(|source| CloudError::Io { what, source })?;
                Database::File(folder.join("inbox.db"))
            }
        };
        let what = "cannot listen on a loopback port for the fake Apiera API".to_owned();
        let credentials = api_credentials(&apiera);
        let apiera = FakeApiera::start(apiera).map_err(|source| CloudError::Io { what, source })?;
        let engines = Engines::start(database).await?;
        let clients = Clients::new(&sdk_config(&engines, shared::aws::https()), PATIENT);
        let resources = provision(&Template::load()?, &clients.dynamodb, &clients.sqs).await?;
        let cloud = Self { engines, resources, apiera };
        for profile in sources.iter() {
            let value = serde_json::json!({ "secrets": [local_secret(profile)] });
            cloud.put_secret(profile.name.as_str(), &value.to_string()).await?;
        }
        let mut api = credentials;
        api["api_url"] = cloud.apiera.url().into();
        api["auth_url"] = cloud.apiera.url().into();
        cloud.put_secret("apiera/api", &api.to_string()).await?;
        Ok(cloud)
    }

    /// Configuration for the SDK: the embedded endpoints, made-up credentials.
    pub fn sdk_config(&self, http: SharedHttpClient) -> SdkConfig {
        sdk_config(&self.engines, http)
    }

    /// Clients as a function has them.
    pub fn clients(&self, budget: CallBudget) -> Clients {
        Clients::new(&self.sdk_config(shared::aws::https()), budget)
    }

    /// Creates or replaces the secret `<prefix>/<name>`.
    ///
    /// # Errors
    /// The store did not take it.
    pub async fn put_secret(&self, name: &str, value: &str) -> Result<(), CloudError> {
        let secrets = self.clients(PATIENT).secrets;
        let id = format!("{SECRETS_PREFIX}/{name}");
        let created = secrets.create_secret().name(&id).secret_string(value).send().await;
        if created.is_ok() {
            return Ok(());
        }
        let put = secrets.put_secret_value().secret_id(&id).secret_string(value).send().await;
        put.map(drop).map_err(|_| CloudError::Secret(id))
    }

    /// Everything that a function running elsewhere on this machine needs in its environment.
    pub fn environment(&self) -> BTreeMap<&'static str, String> {
        let Resources { inbox_table, business_table, queue_url, fifo_queue_url, .. } =
            &self.resources;
        BTreeMap::from([
            ("AWS_ACCESS_KEY_ID", "local".into()),
            ("AWS_SECRET_ACCESS_KEY", "local".into()),
            ("AWS_REGION", REGION.into()),
            ("AWS_DEFAULT_REGION", REGION.into()),
            ("AWS_ENDPOINT_URL_DYNAMODB", self.engines.dynamodb_url()),
            ("AWS_ENDPOINT_URL_SQS", self.engines.sqs_url()),
            ("AWS_ENDPOINT_URL_SECRETS_MANAGER", self.engines.secrets_url()),
            ("INBOX_TABLE", inbox_table.clone()),
            ("BUSINESS_TABLE", business_table.clone()),
            ("QUEUE_URL", queue_url.clone()),
            ("FIFO_QUEUE_URL", fifo_queue_url.clone()),
            ("SECRETS_PREFIX", SECRETS_PREFIX.into()),
        ])
    }

    /// Writes [`environment`](Self::environment) into `folder/endpoints.env`, for a shell to read, and
    /// where deliveries are taken, for the operator's tool.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_environment(
        &self,
        folder: &Path,
        front: Option<SocketAddr>,
    ) -> Result<PathBuf, CloudError> {
        let path = folder.join("endpoints.env");
        let mut environment = self.environment();
        environment.extend(front.map(|at| ("WEBHOOKS_URL", format!("http://{at}/webhooks"))));
        let lines = environment.into_iter().map(|(name, value)| format!("{name}={value}\n"));
        let text: String = lines.collect();
        let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, text));
        let what = format!("cannot write {}", path.display());
        written.map(|()| path).map_err(|source| CloudError::Io { what, source })
    }
}

const REGION: &str = "us-east-1";
/// For provisioning: a busy machine must not fail the start.
const PATIENT: CallBudget =
    CallBudget { attempt: Duration::from_secs(20), operation: Duration::from_secs(40) };

fn sdk_config(engines: &Engines, http: SharedHttpClient) -> SdkConfig {
    let endpoints = Endpoints {
        dynamodb: engines.dynamodb_url(),
        sqs: engines.sqs_url(),
        secrets: engines.secrets_url(),
    };
    let credentials = Credentials::new("local", "local", None, None, "local");
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static(REGION))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .http_client(http)
        .service_config(endpoints)
        .build()
}

/// One endpoint for each service, as `AWS_ENDPOINT_URL_<SERVICE>` would say it.
#[derive(Debug)]
struct Endpoints {
    dynamodb: String,
    sqs: String,
    secrets: String,
}

impl LoadServiceConfig for Endpoints {
    fn load_config(&self, key: ServiceConfigKey<'_>) -> Option<String> {
        match (key.env(), key.service_id()) {
            ("AWS_ENDPOINT_URL", "DynamoDB") => Some(self.dynamodb.clone()),
            ("AWS_ENDPOINT_URL", "SQS") => Some(self.sqs.clone()),
            ("AWS_ENDPOINT_URL", "Secrets Manager") => Some(self.secrets.clone()),
            _ => None,
        }
    }
}

/// The signing secret of a source here: fixed and public, for local use only.
pub fn local_secret(profile: &Profile) -> String {
    let text = format!("{}-local-secret", profile.name);
    match profile.scheme.secret {
        SecretRule::Text => text,
        SecretRule::Base64 => format!("whsec_{}", STANDARD.encode(text)),
    }
}

fn api_credentials(options: &Options) -> serde_json::Value {
    serde_json::json!({
        "client_id": options.client_id,
        "client_secret": options.client_secret,
        "organization": options.organization,
    })
}
