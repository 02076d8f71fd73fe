//! What functions are measured on: the embedded services, behind endpoints that speak TLS and count.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use local::apiera::Options;
use local::cloud::{Cloud, CloudError};
use shared::source::{Sources, SourcesError};

use crate::front::Front;
use crate::meter::Meter;
use crate::runtime_api::Launch;
use crate::tls::{Authority, TlsError};

/// The three services, and how a function finds them.
pub struct Bed {
    /// The services, provisioned as the template says.
    pub cloud: Cloud,
    /// Counts what passes.
    pub meter: Arc<Meter>,
    fronts: [Front; 3],
    authority: Option<Authority>,
}

/// Services or endpoints could not be started.
#[derive(Debug, thiserror::Error)]
pub enum BedError {
    /// The producers cannot be read.
    #[error(transparent)]
    Sources(#[from] SourcesError),
    /// The embedded services did not start.
    #[error(transparent)]
    Cloud(#[from] CloudError),
    /// No certificates.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// No port.
    #[error("cannot listen on a loopback port")]
    Port(#[from] std::io::Error),
}

impl Bed {
    /// With TLS; the authority's file goes into `folder`.
    ///
    /// # Errors
    /// Something could not be started.
    pub async fn with_tls(folder: &Path, meter: Meter) -> Result<Self, BedError> {
        let authority = Authority::new(folder)?;
        Self::start(Some(authority), meter).await
    }

    /// Without TLS.
    ///
    /// # Errors
    /// Something could not be started.
    pub async fn plain(meter: Meter) -> Result<Self, BedError> {
        Self::start(None, meter).await
    }

    async fn start(authority: Option<Authority>, meter: Meter) -> Result<Self, BedError> {
        let cloud = Cloud::start(None, &Sources::builtin()?, Options::default()).await?;
        let meter = Arc::new(meter);
        let engines = &cloud.engines;
        let tls = authority.as_ref().map(Authority::server);
        let front = |url: String| {
            let (tls, meter) = (tls.clone(), meter.clone());
            async move { Front::start(&url, tls, meter).await }
        };
        let fronts = [
            front(engines.dynamodb_url()).await?,
            front(engines.sqs_url()).await?,
            front(engines.secrets_url()).await?,
        ];
        Ok(Self { cloud, meter, fronts, authority })
    }

    /// The endpoints of DynamoDB, SQS and Secrets Manager.
    pub fn urls(&self) -> [&str; 3] {
        self.fronts.each_ref().map(Front::url)
    }

    /// How a function with this binary is started on this bed.
    pub fn launch(&self, function: &str, binary: impl Into<PathBuf>) -> Launch {
        let mut launch = Launch::new(function, binary);
        // Lines are read, as Lambda's log agent reads them.
        launch.lines = Some(Arc::new(|_| {}));
        for (name, value) in self.cloud.environment() {
            launch = launch.with(name, value);
        }
        let [dynamodb, sqs, secrets] = self.urls();
        launch = launch
            .with("AWS_ENDPOINT_URL_DYNAMODB", dynamodb)
            .with("AWS_ENDPOINT_URL_SQS", sqs)
            .with("AWS_ENDPOINT_URL_SECRETS_MANAGER", secrets);
        match &self.authority {
            Some(authority) => launch.with("SSL_CERT_FILE", authority.file().to_string_lossy()),
            None => launch,
        }
    }
}
