//! The local run, by the file it leaves behind, and the environment that the functions have.

use std::collections::BTreeMap;
use std::path::Path;

use aws_config::{Region, SdkConfig};
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, SharedCredentialsProvider};
use aws_types::service_config::{LoadServiceConfig, ServiceConfigKey};

use super::{Kind, Place, Where};
use crate::exit::Failure;

/// The file in the local run's folder.
const FILE: &str = "endpoints.env";

/// The local run in this folder, or with this file.
pub(super) fn local(path: &Path) -> Result<Place, Failure> {
    let file = if path.is_dir() || !path.exists() { path.join(FILE) } else { path.to_owned() };
    let text = std::fs::read_to_string(&file).map_err(|error| {
        let what = format!("no local run is known here: {}: {error}", file.display());
        Failure::unreachable(
            what,
            "cargo run -p local, or inbox --local=DIR … with its --data folder",
        )
    })?;
    let variables = read(&text);
    let folder = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    let kind = Kind::Local(folder.unwrap_or(Path::new(".")).to_owned());
    Place::of(kind, sdk_config(&variables), variables.clone(), &variables)
}

/// What the process's environment says.
pub(super) async fn of_process(wanted: &Where) -> Result<Place, Failure> {
    // Secrets that other programs keep in their environment are none of our facts.
    const NAMES: [&str; 7] = [
        "INBOX_TABLE",
        "BUSINESS_TABLE",
        "QUEUE_URL",
        "FIFO_QUEUE_URL",
        "SECRETS_PREFIX",
        "RETENTION_DAYS",
        "WEBHOOKS_URL",
    ];
    let known = NAMES.iter().filter_map(|name| Some(((*name).into(), std::env::var(name).ok()?)));
    let variables: BTreeMap<String, String> = known.collect();
    let sdk = super::stack::sdk_config(wanted).await?;
    Place::of(Kind::Environment, sdk, variables.clone(), &variables)
}

/// Lines of `NAME=value`.
fn read(text: &str) -> BTreeMap<String, String> {
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    pairs.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned())).collect()
}

fn sdk_config(variables: &BTreeMap<String, String>) -> SdkConfig {
    let of = |name: &str| variables.get(name).cloned().unwrap_or_default();
    let key = (of("AWS_ACCESS_KEY_ID"), of("AWS_SECRET_ACCESS_KEY"));
    let credentials = Credentials::new(key.0, key.1, None, None, "endpoints.env");
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new(of("AWS_REGION")))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .http_client(shared::aws::https())
        .service_config(Endpoints(variables.clone()))
        .build()
}

/// The endpoints of the file: `AWS_ENDPOINT_URL_<SERVICE>`.
#[derive(Debug)]
struct Endpoints(BTreeMap<String, String>);

impl LoadServiceConfig for Endpoints {
    fn load_config(&self, key: ServiceConfigKey<'_>) -> Option<String> {
        let service = key.service_id().to_uppercase().replace(' ', "_");
        self.0.get(&format!("{}_{service}", key.env())).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_name_and_a_value_that_may_hold_anything() {
        let read = read("A=1\nURL=http://h/?a=b\n\nno line\n");
        assert_eq!(read.get("URL").map(String::as_str), Some("http://h/?a=b"));
        assert_eq!(read.len(), 2);
    }
}
