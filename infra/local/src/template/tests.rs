//! The template that is deployed, and what a wrong one is told.

use super::*;

#[test]
fn the_deployed_tables_are_read() {
    let template = Template::load().unwrap();
    let inbox = template.table("InboxTable").unwrap();
    assert_eq!(inbox.name, "local-InboxTable");
    assert_eq!(inbox.key, Key { hash: "pk".to_owned(), range: None });
    assert_eq!(inbox.ttl_attribute.as_deref(), Some("expires_at"));
    let [due] = inbox.indexes.as_slice() else { panic!("one index: {:?}", inbox.indexes) };
    assert_eq!(due.name, "due");
    assert_eq!(due.key, Key { hash: "due_shard".to_owned(), range: Some("due_at".to_owned()) });
    let shown = ["error_kind", "event_type", "received_at", "sends"].map(str::to_owned);
    assert_eq!(due.projection, Projection::Include(shown.to_vec()));

    let business = template.table("BusinessTable").unwrap();
    assert_eq!(business.name, "local-BusinessTable");
    assert_eq!(business.key, Key { hash: "pk".to_owned(), range: Some("sk".to_owned()) });
    assert_eq!((business.indexes.len(), &business.ttl_attribute), (0, &None));
}

#[test]
fn the_deployed_queues_are_read() {
    let template = Template::load().unwrap();
    let events = template.queue("EventQueue").unwrap();
    assert_eq!(events.name, "local-events");
    assert_eq!((events.visibility_timeout_s, events.retention_s), (360, 345_600));
    assert_eq!(events.fifo, None);
    let redrive = Redrive { target: "local-events-dlq".to_owned(), receives_max: 100 };
    assert_eq!(events.redrive, Some(redrive));

    let fifo = template.queue("EventFifoQueue").unwrap();
    assert_eq!(fifo.name, "local-events.fifo");
    let high_throughput = Fifo {
        content_based_deduplication: false,
        deduplication_scope: "messageGroup".to_owned(),
        throughput_limit: "perMessageGroupId".to_owned(),
    };
    assert_eq!(fifo.fifo, Some(high_throughput));
    assert_eq!(fifo.redrive.as_ref().unwrap().target, "local-events-dlq.fifo");

    for id in ["EventDlq", "EventFifoDlq"] {
        let queue = template.queue(id).unwrap();
        assert_eq!((queue.retention_s, &queue.redrive), (1_209_600, &None), "{id}");
    }
}

#[test]
fn defaults_and_parameters_are_taken() {
    let template = Template::parse(
        "Parameters: {Hidden: {Type: Number, Default: '45'}}\n\
         Resources:\n\
         \x20 Plain: {Type: 'AWS::SQS::Queue'}\n\
         \x20 Ordered: {Type: 'AWS::SQS::Queue', Properties: {FifoQueue: true, \
         VisibilityTimeout: !Ref Hidden}}\n\
         \x20 Other: {Type: 'AWS::SNS::Topic', Properties: {TopicName: !If [a, b, c]}}\n",
    )
    .unwrap();
    let names: Vec<&str> = template.queues.iter().map(|queue| queue.name.as_str()).collect();
    assert_eq!(names, ["local-Ordered.fifo", "local-Plain"]);
    let timeouts: Vec<u32> =
        template.queues.iter().map(|queue| queue.visibility_timeout_s).collect();
    assert_eq!(timeouts, [45, 30]);
}

#[test]
fn an_error_names_the_resource_and_the_property() {
    let queue = |properties: &str| {
        format!("Resources: {{Q: {{Type: 'AWS::SQS::Queue', Properties: {{{properties}}}}}}}")
    };
    let table = |properties: &str| {
        format!("Resources: {{T: {{Type: 'AWS::DynamoDB::Table', Properties: {{{properties}}}}}}}")
    };
    for (text, message) in [
        (queue("VisibilityTimeout: !If [a, 1, 2]"), "Q.VisibilityTimeout: Fn::If is not known"),
        (queue("VisibilityTimeout: soon"), "Q.VisibilityTimeout: \"soon\" is not a whole number"),
        (queue("QueueName: !Sub '${Nope}-q'"), "Q.QueueName: a Ref of Nope has no value"),
        (queue("QueueName: 5"), "Q.QueueName: 5 is not a name"),
        (
            queue("RedrivePolicy: {deadLetterTargetArn: 'arn:aws:sqs:x:y:z', maxReceiveCount: 1}"),
            "Q.RedrivePolicy.deadLetterTargetArn: arn:aws:sqs:x:y:z is no queue",
        ),
        (
            table("AttributeDefinitions: [], KeySchema: [{AttributeName: a, KeyType: RANGE}]"),
            "T.KeySchema: a key is one HASH",
        ),
        (
            table("AttributeDefinitions: [{AttributeName: a, AttributeType: Q}], KeySchema: []"),
            "T.AttributeDefinitions[0].AttributeType: unknown variant",
        ),
        (table("KeySchema: []"), "T.Properties: missing field `AttributeDefinitions`"),
        ("a: [".to_owned(), "the template is not YAML"),
        ("{}".to_owned(), "the template is malformed: it has no Resources"),
    ] {
        let error = Template::parse(&text).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error} for {text}");
    }
}
