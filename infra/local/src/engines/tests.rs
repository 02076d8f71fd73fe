//! The engines, asked by the SDK clients that the functions use.

use std::net::TcpStream;

use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType,
    ScalarAttributeType,
};

use super::*;
use crate::testing::{Bench, bench, bench_on};

async fn create_table(bench: &Bench) {
    bench
        .dynamodb
        .create_table()
        .table_name("rows")
        .billing_mode(BillingMode::PayPerRequest)
        .attribute_definitions(
            AttributeDefinition::builder()
                .attribute_name("pk")
                .attribute_type(ScalarAttributeType::S)
                .build()
                .unwrap(),
        )
        .key_schema(
            KeySchemaElement::builder()
                .attribute_name("pk")
                .key_type(KeyType::Hash)
                .build()
                .unwrap(),
        )
        .send()
        .await
        .unwrap();
}

/// Puts a row unless it is there; says whether it was put.
async fn put_if_absent(bench: &Bench, key: &str) -> bool {
    let put = bench
        .dynamodb
        .put_item()
        .table_name("rows")
        .item("pk", AttributeValue::S(key.to_owned()))
        .condition_expression("attribute_not_exists(pk)")
        .send()
        .await;
    match put {
        Ok(_) => true,
        Err(error) => {
            let error = error.into_service_error();
            assert!(error.is_conditional_check_failed_exception(), "{error:?}");
            false
        }
    }
}

fn temporary_folder() -> PathBuf {
    let name = format!("local-engines-{}-{}", std::process::id(), fastrand::u64(..));
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir(&folder).unwrap();
    folder
}

#[tokio::test]
async fn the_three_services_answer_the_sdk() {
    let bench = bench().await;
    create_table(&bench).await;
    assert!(put_if_absent(&bench, "a").await);
    assert!(!put_if_absent(&bench, "a").await);
    assert_eq!(bench.engines.sweep_ttl().await.unwrap(), 0);

    let queue = bench.sqs.create_queue().queue_name("events").send().await.unwrap();
    let url = queue.queue_url().unwrap();
    assert!(url.starts_with(&bench.engines.sqs_url()), "{url}");
    bench.sqs.send_message().queue_url(url).message_body("hello").send().await.unwrap();
    let received = bench.sqs.receive_message().queue_url(url).send().await.unwrap();
    assert_eq!(received.messages()[0].body(), Some("hello"));

    let secret = r#"{"secrets":["s"]}"#;
    let create = bench.secrets.create_secret().name("local/kudos").secret_string(secret);
    create.send().await.unwrap();
    let read = bench.secrets.get_secret_value().secret_id("local/kudos").send().await.unwrap();
    assert_eq!(read.secret_string(), Some(secret));
}

#[tokio::test]
async fn dropping_the_engines_frees_their_ports() {
    let bench = bench().await;
    create_table(&bench).await;
    let addresses = [bench.engines.dynamodb, bench.engines.sqs, bench.engines.secrets];
    assert!(addresses.iter().all(|address| TcpStream::connect(address).is_ok()));
    drop(bench);
    for address in addresses {
        for _ in 0..200 {
            if TcpStream::connect(address).is_err() {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        assert!(TcpStream::connect(address).is_err(), "{address} still answers");
    }
}

#[tokio::test]
async fn a_file_keeps_what_was_written_and_lets_one_process_in() {
    let folder = temporary_folder();
    let file = Database::File(folder.join("dynamodb.db"));
    let bench = bench_on(file.clone()).await;
    create_table(&bench).await;
    assert!(put_if_absent(&bench, "kept").await);
    let second = Engines::start(file.clone()).await;
    assert!(matches!(second, Err(EnginesError::InUse { .. })));
    drop(bench);

    let bench = bench_on(file).await;
    assert!(!put_if_absent(&bench, "kept").await);
    drop(bench);
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn a_folder_that_does_not_exist_is_an_error() {
    let file = Database::File(PathBuf::from("/nonexistent/dynamodb.db"));
    let error = Engines::start(file).await.err().unwrap();
    assert_eq!(error.to_string(), "cannot lock /nonexistent/dynamodb.db.lock");
}
