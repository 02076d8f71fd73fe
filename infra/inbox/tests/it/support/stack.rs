//! What a deployed stack has beside the inbox: its outputs, which CloudFormation tells, and
//! metrics, which CloudWatch takes out of the functions' lines.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use aws_sdk_cloudwatch::Client;
use aws_sdk_cloudwatch::types::{Dimension, MetricDatum};
use axum::Router;
use axum::extract::RawForm;
use axum::http::StatusCode;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use rustack_cloudwatch_core::config::CloudWatchConfig;
use rustack_cloudwatch_core::handler::RustackCloudWatchHandler;
use rustack_cloudwatch_core::provider::RustackCloudWatch;
use rustack_cloudwatch_http::service::CloudWatchHttpService;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::task::JoinSet;

use super::World;
use super::tool::{Said, bare, ended};

/// A stack named `prod`, whose inbox is a world's.
pub(crate) struct Stack {
    environment: HashMap<String, String>,
    cloudwatch: SocketAddr,
    _servers: JoinSet<()>,
}

impl Stack {
    /// For this world.
    pub(crate) async fn of(world: &World) -> Self {
        let mut servers = JoinSet::new();
        let cloudformation = serve_outputs(&mut servers, world).await;
        let cloudwatch = serve_cloudwatch(&mut servers).await;
        let named = |name: &&str| name.starts_with("AWS_");
        let environment = world.cloud.environment().into_iter().filter(|(name, _)| named(name));
        let mut environment: HashMap<String, String> =
            environment.map(|(name, value)| (name.to_owned(), value)).collect();
        environment.insert("AWS_ENDPOINT_URL_CLOUDFORMATION".into(), url(cloudformation));
        environment.insert("AWS_ENDPOINT_URL_CLOUDWATCH".into(), url(cloudwatch));
        // The engine does not read compressed requests.
        environment.insert("AWS_DISABLE_REQUEST_COMPRESSION".into(), "true".into());
        // Nothing on this machine is to answer for what is not set.
        environment.insert("AWS_EC2_METADATA_DISABLED".into(), "true".into());
        Self { environment, cloudwatch, _servers: servers }
    }

    /// The variables that lead to it.
    pub(crate) fn environment(&self) -> &HashMap<String, String> {
        &self.environment
    }

    /// The tool with these arguments and the stack's environment.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = bare(args);
        command.envs(&self.environment);
        command
    }

    /// Runs it to its end.
    pub(crate) async fn run(&self, args: &[&str]) -> Said {
        ended(self.command(args).output().await.unwrap())
    }

    /// What CloudWatch makes of the functions' lines.
    pub(crate) async fn take_metrics(&self, world: &World) {
        let config = world.cloud.sdk_config(shared::aws::https());
        let config = aws_sdk_cloudwatch::config::Builder::from(&config);
        let config = config.disable_request_compression(true).endpoint_url(url(self.cloudwatch));
        let client = Client::from_conf(config.build());
        let data: Vec<MetricDatum> = world.metric_lines().iter().flat_map(data).collect();
        for chunk in data.chunks(500) {
            let call = client.put_metric_data().namespace(shared::metrics::NAMESPACE);
            call.set_metric_data(Some(chunk.to_vec())).send().await.unwrap();
        }
    }
}

/// One line in the embedded metric format: each metric under each of its sets of dimensions.
fn data(line: &Value) -> Vec<MetricDatum> {
    let at = aws_smithy_types::DateTime::from_millis(line["_aws"]["Timestamp"].as_i64().unwrap());
    let directive = &line["_aws"]["CloudWatchMetrics"][0];
    let list = |name: &str| directive[name].as_array().unwrap();
    let dimensions = |set: &Value| {
        let names = set.as_array().unwrap().iter().map(|name| name.as_str().unwrap());
        let of = |name: &str| Dimension::builder().name(name).value(line[name].as_str().unwrap());
        names.map(|name| of(name).build()).collect::<Vec<_>>()
    };
    let metrics = list("Metrics").iter().flat_map(|metric| {
        let name = metric["Name"].as_str().unwrap();
        list("Dimensions").iter().map(move |set| {
            let datum = MetricDatum::builder().metric_name(name).timestamp(at);
            let value = line[name].as_f64().unwrap();
            datum.value(value).set_dimensions(Some(dimensions(set))).build()
        })
    });
    metrics.collect()
}

/// CloudFormation, as far as it is asked: `DescribeStacks`.
async fn serve_outputs(servers: &mut JoinSet<()>, world: &World) -> SocketAddr {
    let resources = &world.cloud.resources;
    let outputs = [
        ("InboxTableName", resources.inbox_table.as_str()),
        ("BusinessTableName", &resources.business_table),
        ("EventQueueUrl", &resources.queue_url),
        ("EventFifoQueueUrl", &resources.fifo_queue_url),
        ("SecretsPrefix", local::cloud::SECRETS_PREFIX),
        ("KudosWebhookUrl", "https://api.example/webhooks/kudos"),
    ];
    let outputs = outputs.map(|(key, value)| {
        format!("<member><OutputKey>{key}</OutputKey><OutputValue>{value}</OutputValue></member>")
    });
    let outputs = outputs.concat();
    let answer = move |RawForm(form): RawForm| {
        let form = String::from_utf8(form.to_vec()).unwrap();
        let answer = if form.contains("Action=DescribeStacks") && form.contains("StackName=prod") {
            let stack = format!(
                "<member><StackName>prod</StackName>\
                 <CreationTime>2026-01-01T00:00:00Z</CreationTime><StackStatus>CREATE_COMPLETE</StackStatus>\
                 <Parameters><member><ParameterKey>RetentionDays</ParameterKey>\
                 <ParameterValue>7</ParameterValue></member></Parameters>\
                 <Outputs>{outputs}</Outputs></member>"
            );
            (
                StatusCode::OK,
                format!(
                    "<DescribeStacksResponse><DescribeStacksResult><Stacks>{stack}</Stacks>\
                 </DescribeStacksResult></DescribeStacksResponse>"
                ),
            )
        } else {
            (
                StatusCode::BAD_REQUEST,
                "<ErrorResponse><Error><Type>Sender</Type>\
             <Code>ValidationError</Code><Message>Stack does not exist</Message></Error>\
             </ErrorResponse>"
                    .to_owned(),
            )
        };
        std::future::ready(answer)
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().fallback(answer);
    servers.spawn(async move { axum::serve(listener, router).await.unwrap() });
    address
}

async fn serve_cloudwatch(servers: &mut JoinSet<()>) -> SocketAddr {
    let provider = Arc::new(RustackCloudWatch::new(Arc::new(CloudWatchConfig::default())));
    let handler = Arc::new(RustackCloudWatchHandler::new(provider));
    let service = CloudWatchHttpService::new(handler, Default::default());
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    servers.spawn(async move {
        let mut connections = JoinSet::new();
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let connection =
                http1::Builder::new().serve_connection(TokioIo::new(stream), service.clone());
            connections.spawn(async move { drop(connection.await) });
        }
    });
    address
}

fn url(address: SocketAddr) -> String {
    format!("http://{address}")
}
