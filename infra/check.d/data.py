"""Tables, queues and secrets."""

from agree import QUEUES, check, differs, many


@check("the tables' keys are those that the code uses")
def table_keys(w):
    for table, keys in (("InboxTable", w.code.row_key), ("BusinessTable", w.code.business_key)):
        schema = w.t.properties(table).get("KeySchema", [])
        yield from differs(f"{table}'s key", {part["AttributeName"] for part in schema}, keys)


@check("the index has the name, the keys and the attributes that the sweeper reads")
def due_index(w):
    indexes = w.t.properties("InboxTable").get("GlobalSecondaryIndexes", [])
    if len(indexes) != 1:
        yield f"InboxTable has {len(indexes)} indexes"
        return
    index = indexes[0]
    keys = tuple(part["AttributeName"] for part in index["KeySchema"])
    yield from differs("the index", (index["IndexName"], *keys), w.code.index)
    shown = set(index["Projection"].get("NonKeyAttributes", [])) | set(keys) | {"pk"}
    if index["Projection"]["ProjectionType"] == "ALL":
        yield "the index shows whole rows, and every write pays for them"
    for attribute in sorted(w.code.index_reads - shown):
        yield f"the sweeper reads {attribute}, and the index does not show it"


@check("TTL works on the attribute that the code writes")
def ttl(w):
    is_ = w.t.properties("InboxTable").get("TimeToLiveSpecification", {})
    yield from differs("InboxTable's TTL", is_, {"AttributeName": w.code.ttl, "Enabled": True})


@check("both tables outlive the stack, can be restored, are encrypted and grow with the load")
def tables_are_safe(w):
    for table in ("InboxTable", "BusinessTable"):
        resource, is_ = w.t.resources.get(table, {}), w.t.properties(table)
        # A first deployment that fails leaves no empty table behind; a replaced one always stays.
        policies = {"DeletionPolicy": "RetainExceptOnCreate", "UpdateReplacePolicy": "Retain"}
        for policy, value in policies.items():
            yield from differs(f"{table}.{policy}", resource.get(policy), value)
        pitr = is_.get("PointInTimeRecoverySpecification", {}).get("PointInTimeRecoveryEnabled")
        yield from differs(f"{table}'s point-in-time recovery", pitr, True)
        yield from differs(
            f"{table}'s SSE", is_.get("SSESpecification", {}).get("SSEEnabled"), True
        )
        yield from differs(f"{table}.BillingMode", is_.get("BillingMode"), "PAY_PER_REQUEST")


@check("an event is remembered for as long as the code thinks")
def retention(w):
    yield from differs(
        "RetentionDays' default", w.t.default("RetentionDays"), w.code.limits["RETENTION_DAYS"]
    )


@check("a message stays hidden for six times the processor's timeout, and longer than a lease")
def visibility(w):
    timeout = w.t.properties("ProcessorFunction").get("Timeout", 3)
    for queue in QUEUES:
        is_ = w.t.properties(queue).get("VisibilityTimeout", 30)
        yield from differs(f"{queue}.VisibilityTimeout", is_, w.code.limits["VISIBILITY"])
        if is_ < 6 * timeout:
            yield f"{queue}.VisibilityTimeout {is_} is below six times the function's {timeout}"
        if is_ <= w.code.limits["LEASE"]:
            yield f"{queue}.VisibilityTimeout {is_} is not longer than a lease"


@check("each queue has a dead-letter queue of its kind that keeps longer and takes from it alone")
def dead_letters(w):
    for queue, dlq in QUEUES.items():
        source, target = w.t.properties(queue), w.t.properties(dlq)
        redrive = source.get("RedrivePolicy", {})
        yield from differs(
            f"{queue}'s dead-letter queue", redrive.get("deadLetterTargetArn"), f"<{dlq}.Arn>"
        )
        yield from differs(
            f"{queue}.maxReceiveCount",
            redrive.get("maxReceiveCount"),
            w.code.limits["RECEIVES_MAX_FIFO" if source.get("FifoQueue") else "RECEIVES_MAX"],
        )
        yield from differs(f"{dlq}.FifoQueue", target.get("FifoQueue"), source.get("FifoQueue"))
        kept, source_kept = (q.get("MessageRetentionPeriod", 345600) for q in (target, source))
        if kept <= source_kept:
            yield f"{dlq} keeps {kept} s, {queue} {source_kept} s: dead letters would be gone at once"
        arn = f"arn:<AWS::Partition>:sqs:<AWS::Region>:<AWS::AccountId>:{source.get('QueueName')}"
        allowed = {"redrivePermission": "byQueue", "sourceQueueArns": [arn]}
        yield from differs(f"{dlq}.RedriveAllowPolicy", target.get("RedriveAllowPolicy"), allowed)


@check("the FIFO queue repeats what is sent again")
def fifo(w):
    is_ = w.t.properties("EventFifoQueue")
    yield from differs("EventFifoQueue.FifoQueue", is_.get("FifoQueue"), True)
    yield from differs(
        "its content-based deduplication", is_.get("ContentBasedDeduplication", False), False
    )
    yield from differs("its throughput limit", is_.get("FifoThroughputLimit"), "perMessageGroupId")


@check("every queue is encrypted and refuses to speak without TLS")
def queues_are_safe(w):
    refused = set()
    for policy in w.t.of_type("AWS::SQS::QueuePolicy"):
        is_ = w.t.properties(policy)
        for statement in is_["PolicyDocument"]["Statement"]:
            tls = statement.get("Condition") == {"Bool": {"aws:SecureTransport": "false"}}
            all_of_it = (statement["Effect"], statement["Action"], statement["Principal"]) == (
                "Deny",
                "sqs:*",
                "*",
            )
            if tls and all_of_it:
                named = {arn.replace(".Arn>", ">") for arn in many(statement["Resource"])}
                refused |= named & set(is_["Queues"])
    for queue in w.t.of_type("AWS::SQS::Queue"):
        yield from differs(
            f"{queue}'s SSE", w.t.properties(queue).get("SqsManagedSseEnabled"), True
        )
        if f"<{queue}>" not in refused:
            yield f"{queue} also answers without TLS"


@check("each source's secret is where the code looks, and only its parameter can change it")
def secrets(w):
    found = {}
    for logical_id in w.t.of_type("AWS::SecretsManager::Secret"):
        found[w.t.properties(logical_id).get("Name")] = (logical_id, w.t.properties(logical_id))
    for source in w.code.sources:
        logical_id, is_ = found.pop(f"<AWS::StackName>/{source}", (None, {}))
        if not logical_id:
            yield f"no secret for {source}"
            continue
        parameter = f"{source.capitalize()}SigningSecret"
        # Any other form would write the first value over a rotated one with the next deployment.
        seed = f'{{"secrets":["<{parameter}>"]}}'
        yield from _seeded(w, logical_id, is_, seed, [parameter])
    for source, fields in w.code.credentials.items():
        logical_id, is_ = found.pop(f"<AWS::StackName>/{source}/api", (None, {}))
        if not logical_id:
            yield f"no secret with the API credentials that {source}'s handlers read"
            continue
        names = [
            source.capitalize() + "".join(word.capitalize() for word in field.split("_"))
            for field in fields
        ]
        seed = ",".join(f'"{field}":"<{name}>"' for field, name in zip(fields, names))
        yield from _seeded(w, logical_id, is_, f"{{{seed}}}", names)
    for name in found:
        yield f"nobody reads the secret {name}"


def _seeded(w, logical_id, is_, seed, parameters):
    yield from differs(f"{logical_id}.SecretString", is_.get("SecretString"), seed)
    for parameter in parameters:
        if w.t.default(parameter) is not None:
            yield f"{parameter} has a default: a deployment could write it over the secret"
        if not w.t.document["Parameters"].get(parameter, {}).get("NoEcho"):
            yield f"{parameter} is shown to everybody"
    for other in sorted(set(is_) - {"Name", "Description", "SecretString"}):
        yield f"{logical_id}.{other} is not expected"
