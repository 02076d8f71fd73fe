"""What template, code and runbook must agree on. Each check yields one line for each mistake."""

import json
import re
from types import SimpleNamespace

CHECKS = []

# The functions' logical ids.
FUNCTIONS = {
    "ingress": "IngressFunction",
    "processor": "ProcessorFunction",
    "sweeper": "SweeperFunction",
}
ROLES = {"ingress": "IngressRole", "processor": "ProcessorRole", "sweeper": "SweeperRole"}
LOGS = {"ingress": "IngressLogs", "processor": "ProcessorLogs", "sweeper": "SweeperLogs"}
# Each queue that is read, and where its dead letters go.
QUEUES = {"EventQueue": "EventDlq", "EventFifoQueue": "EventFifoDlq"}
# What the environment's variables stand for.
VARIABLES = {
    "INBOX_TABLE": "<InboxTable>",
    "BUSINESS_TABLE": "<BusinessTable>",
    "QUEUE_URL": "<EventQueue>",
    "FIFO_QUEUE_URL": "<EventFifoQueue>",
    "SECRETS_PREFIX": "<AWS::StackName>",
    "RETENTION_DAYS": "<RetentionDays>",
}
# What a call needs to be allowed, where that is not its own name. What a transaction is allowed to
# do is what its actions are allowed to do: the row's own update, and any effect.
ACTIONS = {
    "send_message_batch": "SendMessage",
    "change_message_visibility_batch": "ChangeMessageVisibility",
    "delete_message_batch": "DeleteMessage",
}
EFFECTS = ["ConditionCheckItem", "DeleteItem", "PutItem", "UpdateItem"]
INBOX, BUSINESS = "<InboxTable.Arn>", "<BusinessTable.Arn>"
SECRETS = "arn:<AWS::Partition>:secretsmanager:<AWS::Region>:<AWS::AccountId>:secret:<AWS::StackName>/"
# AWS's own metrics that are watched, and the dimensions that AWS publishes them under.
AWS_METRICS = {
    ("AWS/ApiGateway", "5xx"): [("ApiId",)],
    ("AWS/ApiGateway", "Count"): [("ApiId",)],
    ("AWS/ApiGateway", "Latency"): [("ApiId",)],
    ("AWS/Lambda", "ConcurrentExecutions"): [("FunctionName",)],
    ("AWS/Lambda", "Errors"): [("FunctionName",)],
    ("AWS/Lambda", "Throttles"): [("FunctionName",)],
    ("AWS/SQS", "ApproximateNumberOfMessagesVisible"): [("QueueName",)],
    ("AWS/SQS", "ApproximateNumberOfMessagesNotVisible"): [("QueueName",)],
    ("AWS/DynamoDB", "ReadThrottleEvents"): [("TableName",), ("TableName", "GlobalSecondaryIndexName")],
    ("AWS/DynamoDB", "WriteThrottleEvents"): [("TableName",), ("TableName", "GlobalSecondaryIndexName")],
}
# What each dimension of an AWS metric may hold here.
DIMENSION_VALUES = {
    "ApiId": {"<IngressApi>"},
    "FunctionName": {f"<{i}>" for i in FUNCTIONS.values()},
    "QueueName": {f"<{q}.QueueName>" for q in [*QUEUES, *QUEUES.values(), "SweeperDlq"]},
    "TableName": {"<InboxTable>", "<BusinessTable>"},
    "GlobalSecondaryIndexName": {"due"},
}


def check(title):
    """Registers a check under the sentence that it makes sure of."""
    def register(function):
        CHECKS.append((title, function))
        return function
    return register


def problems(template, code, runbook):
    """(title, mistake) of everything that does not agree."""
    world = SimpleNamespace(t=template, code=code, runbook=runbook)
    return [(title, mistake) for title, function in CHECKS for mistake in function(world)]


def differs(what, is_, should):
    """One mistake, if there is one."""
    if is_ != should:
        yield f"{what}: {is_!r}, must be {should!r}"


# ------------------------------------------------------------------------------------------- tables


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
        for policy in ("DeletionPolicy", "UpdateReplacePolicy"):
            yield from differs(f"{table}.{policy}", resource.get(policy), "Retain")
        pitr = is_.get("PointInTimeRecoverySpecification", {}).get("PointInTimeRecoveryEnabled")
        yield from differs(f"{table}'s point-in-time recovery", pitr, True)
        yield from differs(f"{table}'s SSE", is_.get("SSESpecification", {}).get("SSEEnabled"), True)
        yield from differs(f"{table}.BillingMode", is_.get("BillingMode"), "PAY_PER_REQUEST")


@check("an event is remembered for as long as the code thinks")
def retention(w):
    yield from differs("RetentionDays' default", w.t.default("RetentionDays"), w.code.limits["RETENTION_DAYS"])


# ------------------------------------------------------------------------------------------- queues


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
        yield from differs(f"{queue}'s dead-letter queue", redrive.get("deadLetterTargetArn"), f"<{dlq}.Arn>")
        yield from differs(f"{queue}.maxReceiveCount", redrive.get("maxReceiveCount"), w.code.limits["RECEIVES_MAX"])
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
    yield from differs("its content-based deduplication", is_.get("ContentBasedDeduplication", False), False)
    yield from differs("its throughput limit", is_.get("FifoThroughputLimit"), "perMessageGroupId")


@check("every queue is encrypted and refuses to speak without TLS")
def queues_are_safe(w):
    refused = set()
    for policy in w.t.of_type("AWS::SQS::QueuePolicy"):
        is_ = w.t.properties(policy)
        for statement in is_["PolicyDocument"]["Statement"]:
            tls = statement.get("Condition") == {"Bool": {"aws:SecureTransport": "false"}}
            all_of_it = (statement["Effect"], statement["Action"], statement["Principal"]) == ("Deny", "sqs:*", "*")
            if tls and all_of_it:
                named = {arn.replace(".Arn>", ">") for arn in many(statement["Resource"])}
                refused |= named & set(is_["Queues"])
    for queue in w.t.of_type("AWS::SQS::Queue"):
        yield from differs(f"{queue}'s SSE", w.t.properties(queue).get("SqsManagedSseEnabled"), True)
        if f"<{queue}>" not in refused:
            yield f"{queue} also answers without TLS"


# ---------------------------------------------------------------------------------------- functions


@check("the functions' timeouts are those that the code counts on")
def timeouts(w):
    for function, constant in (("ingress", "INGRESS_TIMEOUT"), ("processor", "PROCESSOR_TIMEOUT"), ("sweeper", "SWEEPER_TIMEOUT")):
        is_ = w.t.properties(FUNCTIONS[function]).get("Timeout", 3)
        yield from differs(f"{function}'s timeout", is_, w.code.limits[constant])


@check("budget, function, API and producer wait for each other in this order")
def answer_times(w):
    function = w.t.properties("IngressFunction").get("Timeout", 3)
    api = w.t.properties("IngressIntegration").get("TimeoutInMillis", 30000) / 1000
    yield from differs("the API's timeout", api, w.code.limits["API_TIMEOUT"])
    strictest = min(table["contract"]["timeout_s"] for table in w.code.sources.values())
    if not w.code.limits["INGRESS_BUDGET"] < function < api < strictest:
        yield f"budget {w.code.limits['INGRESS_BUDGET']}, function {function}, API {api}, producer {strictest}"


@check("each function has the environment that its code reads, and nothing else")
def environment(w):
    for function, logical_id in FUNCTIONS.items():
        is_ = w.t.properties(logical_id)
        variables = is_.get("Environment", {}).get("Variables", {})
        required, optional = w.code.environment[function]
        for name in sorted(required - set(variables)):
            yield f"{function} does not start without {name}"
        for name, value in variables.items():
            if name not in required | optional:
                yield f"{function} does not read {name}"
            else:
                yield from differs(f"{function}'s {name}", value, VARIABLES.get(name))


@check("no secret is in an environment, a description, an output or anywhere but its secret")
def no_secret_leaks(w):
    hidden = {name for name, p in w.t.document["Parameters"].items() if p.get("NoEcho")}
    for name in w.t.document["Parameters"]:
        if "Secret" in name and name not in hidden:
            yield f"the parameter {name} is shown to everybody"
    for logical_id, resource in w.t.resources.items():
        text = json.dumps(w.t.plain(resource))
        if resource["Type"] != "AWS::SecretsManager::Secret":
            for name in sorted(hidden):
                if f"<{name}>" in text:
                    yield f"{logical_id} shows {name}"
        if "{{resolve:" in text:
            yield f"{logical_id} resolves a secret into its properties"
    for name in sorted(hidden):
        if f"<{name}>" in json.dumps(w.t.plain(w.t.document.get("Outputs", {}))):
            yield f"an output shows {name}"


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
        yield from differs(f"{logical_id}.SecretString", is_.get("SecretString"), seed)
        if w.t.default(parameter) is not None:
            yield f"{parameter} has a default: a deployment could write it over the secret"
        for other in sorted(set(is_) - {"Name", "Description", "SecretString"}):
            yield f"{logical_id}.{other} is not expected"
    for name in found:
        yield f"the secret {name} is for no source"


@check("the functions are built and run as what they are")
def build(w):
    for function, logical_id in FUNCTIONS.items():
        is_, metadata = w.t.properties(logical_id), w.t.resources.get(logical_id, {}).get("Metadata", {})
        yield from differs(f"{function}'s runtime", is_.get("Runtime"), "provided.al2023")
        yield from differs(f"{function}'s handler", is_.get("Handler"), "bootstrap")
        yield from differs(f"{function}'s architecture", is_.get("Architectures"), ["<Architecture>"])
        yield from differs(f"{function}'s build", metadata.get("BuildMethod"), "rust-cargolambda")
        binary = metadata.get("BuildProperties", {}).get("Binary")
        yield from differs(f"{function}'s binary", binary, w.code.binaries[function])
    yield from differs("Architecture's default", w.t.default("Architecture"), "arm64")


@check("a deployment takes effect: no alias that keeps the old configuration")
def no_alias(w):
    for logical_id in [*w.t.of_type("AWS::Lambda::Alias"), *w.t.of_type("AWS::Lambda::Version")]:
        yield f"{logical_id}: a changed parameter would not be published"


@check("log lines reach the function's own group, are kept for a while, and carry the metrics")
def logs(w):
    for function, logical_id in FUNCTIONS.items():
        config = w.t.properties(logical_id).get("LoggingConfig", {})
        yield from differs(f"{function}'s log group", config.get("LogGroup"), f"<{LOGS[function]}>")
        yield from differs(f"{function}'s log format", config.get("LogFormat"), "JSON")
        yield from differs(f"{function}'s log level", config.get("ApplicationLogLevel"), "<LogLevel>")
    allowed = set(w.t.document["Parameters"].get("LogLevel", {}).get("AllowedValues", []))
    if not allowed or allowed & {"WARN", "ERROR", "FATAL"}:
        yield "LogLevel lets Lambda drop the metrics, which are lines of level INFO"
    for group in w.t.of_type("AWS::Logs::LogGroup"):
        yield from differs(f"{group}'s retention", w.t.properties(group).get("RetentionInDays"), "<LogRetentionDays>")


# ------------------------------------------------------------------------------------ what runs them


@check("both queues call the processor record by record, and no filter loses a message")
def mappings(w):
    is_ = {}
    for logical_id in w.t.of_type("AWS::Lambda::EventSourceMapping"):
        properties = w.t.properties(logical_id)
        is_[properties.get("EventSourceArn")] = properties
    yield from differs("what is mapped", set(is_), {f"<{queue}.Arn>" for queue in QUEUES})
    for arn, mapping in is_.items():
        yield from differs(f"{arn}'s function", mapping.get("FunctionName"), "<ProcessorFunction>")
        yield from differs(f"{arn}'s batch", mapping.get("BatchSize", 10), w.code.limits["BATCH_RECORDS_MAX"])
        yield from differs(f"{arn}'s answer", mapping.get("FunctionResponseTypes"), ["ReportBatchItemFailures"])
        yield from differs(f"{arn} is enabled", mapping.get("Enabled", True), True)
        if "FilterCriteria" in mapping:
            yield f"{arn} has a filter, and SQS deletes what it drops"


@check("the processor runs no more at a time than it is told to, and what it takes it can run")
def concurrency(w):
    reserved = w.t.properties("ProcessorFunction").get("ReservedConcurrentExecutions")
    total = 0
    for logical_id in w.t.of_type("AWS::Lambda::EventSourceMapping"):
        mapping = w.t.properties(logical_id)
        most = mapping.get("ScalingConfig", {}).get("MaximumConcurrency")
        if isinstance(most, str):
            parameter = w.t.document["Parameters"][most.strip("<>")]
            if parameter.get("MinValue", 0) < 2 or parameter.get("MaxValue", 1001) > 1000:
                yield f"{most} may be what Lambda refuses (2 to 1000)"
            most = parameter["Default"]
        if most is None:
            if mapping.get("EventSourceArn") == "<EventQueue.Arn>":
                yield "nothing bounds the processor on the standard queue"
            most = 0
        elif not 2 <= most <= 1000:
            yield f"a maximum concurrency of {most} (Lambda takes 2 to 1000)"
        total += most
    if reserved is not None and total > reserved:
        yield f"the mappings take for {total} at a time, and {reserved} may run: the rest counts as received"


@check("the address is the one route that the code answers, as payload 2.0, throttled and logged")
def api(w):
    integration, stage = w.t.properties("IngressIntegration"), w.t.properties("IngressStage")
    yield from differs("the protocol", w.t.properties("IngressApi").get("ProtocolType"), "HTTP")
    routes = [w.t.properties(route) for route in w.t.of_type("AWS::ApiGatewayV2::Route")]
    yield from differs("the routes", [r.get("RouteKey") for r in routes], [f"POST {w.code.route_prefix}{{source}}"])
    yield from differs("the route's target", [r.get("Target") for r in routes], ["integrations/<IngressIntegration>"])
    yield from differs("the integration", integration.get("IntegrationType"), "AWS_PROXY")
    yield from differs("its function", integration.get("IntegrationUri"), "<IngressFunction.Arn>")
    yield from differs("the payload's format", integration.get("PayloadFormatVersion"), "2.0")
    yield from differs("the stage", (stage.get("StageName"), stage.get("AutoDeploy")), ("$default", True))
    settings = stage.get("DefaultRouteSettings", {})
    limits = [settings.get(f"Throttling{kind}Limit") for kind in ("Rate", "Burst")]
    yield from differs("the throttling", limits, ["<RequestRate>", "<RequestBurst>"])
    log = stage.get("AccessLogSettings", {})
    yield from differs("the access log", log.get("DestinationArn"), "<ApiLogs.Arn>")
    try:
        fields = json.loads(log.get("Format", ""))
    except ValueError:
        yield "the access log's format is no JSON on one line"
    else:
        for name in sorted({"status", "integrationStatus"} - set(fields)):
            yield f"the metric filter looks for {name}, which the access log does not show"
    permission = w.t.properties("IngressPermission")
    yield from differs("who may call", permission.get("Principal"), "apigateway.amazonaws.com")
    ours = "arn:<AWS::Partition>:execute-api:<AWS::Region>:<AWS::AccountId>:<IngressApi>/*/POST/webhooks/*"
    yield from differs("what may call", permission.get("SourceArn"), ours)


@check("one sweep a minute, under the stack's name, not repeated, and failures are kept")
def schedule(w):
    schedules = [w.t.properties(i) for i in w.t.of_type("AWS::Scheduler::Schedule")]
    if len(schedules) != 1:
        yield f"{len(schedules)} schedules"
        return
    is_, = schedules
    target = is_.get("Target", {})
    yield from differs("the schedule", is_.get("ScheduleExpression"), "rate(1 minute)")
    yield from differs("its state", is_.get("State", "ENABLED"), "ENABLED")
    if "<AWS::StackName>" not in str(is_.get("Name")):
        yield "the schedule's name does not hold the stack's: a second stack could not be made"
    yield from differs("its function", target.get("Arn"), "<SweeperFunction.Arn>")
    yield from differs("its repetitions", target.get("RetryPolicy", {}).get("MaximumRetryAttempts", 185), 0)
    yield from differs("its dead letters", target.get("DeadLetterConfig", {}).get("Arn"), "<SweeperDlq.Arn>")
    configs = [w.t.properties(i) for i in w.t.of_type("AWS::Lambda::EventInvokeConfig")]
    sweeps = next((c for c in configs if c.get("FunctionName") == "<SweeperFunction>"), {})
    yield from differs("the sweeper's repetitions", sweeps.get("MaximumRetryAttempts", 2), 0)
    failed = sweeps.get("DestinationConfig", {}).get("OnFailure", {}).get("Destination")
    yield from differs("where failed sweeps go", failed, "<SweeperDlq.Arn>")


# ------------------------------------------------------------------------------------------- rights


def many(value):
    return value if isinstance(value, list) else [value]


def rights(w, role, effect="Allow"):
    """(action, resource) of a role's statements."""
    found = set()
    for policy in w.t.properties(role).get("Policies", []):
        for statement in policy["PolicyDocument"]["Statement"]:
            if statement["Effect"] == effect:
                found |= {(a, r) for a in many(statement["Action"]) for r in many(statement["Resource"])}
    return found


def needed(w, function):
    """(action, resource) that a function cannot do without."""
    need = {(f"logs:{action}", f"<{LOGS[function]}.Arn>") for action in ("CreateLogStream", "PutLogEvents")}
    tables = {"inbox": INBOX, "business": BUSINESS, "index": f"{INBOX}/index/{w.code.index[0]}"}
    queues = [f"<{queue}.Arn>" for queue in QUEUES]
    for service, call, table in w.code.calls[function]:
        action = ACTIONS.get(call) or "".join(word.capitalize() for word in call.split("_"))
        if call == "transact_write_items":
            need |= {("dynamodb:UpdateItem", INBOX)} | {(f"dynamodb:{effect}", BUSINESS) for effect in EFFECTS}
        elif service == "dynamodb":
            need.add((f"dynamodb:{action}", tables[table]))
        elif service == "sqs":
            need |= {(f"sqs:{action}", queue) for queue in queues}
        else:
            which = "*/api-*" if function == "processor" else "*"
            need.add((f"secretsmanager:{action}", SECRETS + which))
    # What Lambda does in the function's name.
    if function == "processor":
        need |= {(f"sqs:{a}", q) for a in ("ReceiveMessage", "DeleteMessage", "GetQueueAttributes") for q in queues}
    if function == "sweeper":
        need.add(("sqs:SendMessage", "<SweeperDlq.Arn>"))
    return need


@check("each function may do what its code calls, on what it calls it on, and nothing more")
def least_privilege(w):
    for function, role in ROLES.items():
        yield from differs(f"{function}'s role", w.t.properties(FUNCTIONS[function]).get("Role"), f"<{role}.Arn>")
        has, needs = rights(w, role), needed(w, function)
        for action, resource in sorted(needs - has):
            yield f"{function} may not {action} on {resource}, and its code calls it"
        for action, resource in sorted(has - needs):
            yield f"{function} may {action} on {resource}, and its code never calls it"
    no_credentials = {("secretsmanager:GetSecretValue", SECRETS + "*/api-*")}
    yield from differs("what the ingress may not", rights(w, "IngressRole", "Deny"), no_credentials)


@check("no role has a wildcard, a managed policy or another's trust")
def narrow_roles(w):
    for role in w.t.of_type("AWS::IAM::Role"):
        is_ = w.t.properties(role)
        if is_.get("ManagedPolicyArns"):
            yield f"{role} has managed policies"
        for action, resource in sorted(rights(w, role)):
            if "*" in action or resource == "*" or resource.endswith(":*"):
                yield f"{role} may {action} on {resource}"
        for statement in is_["AssumeRolePolicyDocument"]["Statement"]:
            service = "scheduler" if role == "SweepScheduleRole" else "lambda"
            yield from differs(f"who may be {role}", statement["Principal"], {"Service": f"{service}.amazonaws.com"})
    schedule_may = {("lambda:InvokeFunction", "<SweeperFunction.Arn>"), ("sqs:SendMessage", "<SweeperDlq.Arn>")}
    yield from differs("what the schedule may", rights(w, "SweepScheduleRole"), schedule_may)


# ------------------------------------------------------------------------------ alarms and dashboard


def queried(expression):
    """(namespace, metric, dimension names) that a query or a search names."""
    for metric, namespace, names in re.findall(r'SELECT \w+\((\w+)\)\s+FROM SCHEMA\("?([\w/]+)"?, ([^)]+)\)', expression):
        yield namespace, metric, tuple(name.strip() for name in names.split(","))
    for scope, rest in re.findall(r"SEARCH\('\{([^}]+)\}(.*?)'", expression):
        namespace, *names = scope.split(",")
        for metric in re.findall(r'MetricName="(\w+)"', rest):
            yield namespace, metric, tuple(names)


def alarm_metrics(alarm):
    """(namespace, metric, {dimension: value}) and (namespace, metric, names) that an alarm watches."""
    if "MetricName" in alarm:
        yield alarm["Namespace"], alarm["MetricName"], {d["Name"]: d["Value"] for d in alarm.get("Dimensions", [])}
    for entry in alarm.get("Metrics", []):
        metric = entry.get("MetricStat", {}).get("Metric")
        if metric:
            yield metric["Namespace"], metric["MetricName"], {d["Name"]: d["Value"] for d in metric.get("Dimensions", [])}
        yield from queried(entry.get("Expression", ""))


def widgets(w):
    """The dashboard's widgets; a mistake as text instead."""
    bodies = [w.t.properties(i).get("DashboardBody", "") for i in w.t.of_type("AWS::CloudWatch::Dashboard")]
    if len(bodies) != 1:
        return None, f"{len(bodies)} dashboards"
    try:
        return json.loads(bodies[0])["widgets"], None
    except (ValueError, KeyError) as error:
        return None, f"the dashboard's body is no JSON with widgets: {error}"


def dashboard_metrics(found):
    for widget in found:
        for row in widget["properties"].get("metrics", []):
            if isinstance(row[0], dict):
                yield from queried(row[0].get("expression", ""))
                continue
            namespace, metric, *rest = [part for part in row if not isinstance(part, dict)]
            yield namespace, metric, dict(zip(rest[::2], rest[1::2]))


def metric_mistakes(w, where, namespace, metric, dimensions):
    names = tuple(dimensions)
    own_filters = {
        (t["MetricNamespace"], t["MetricName"])
        for i in w.t.of_type("AWS::Logs::MetricFilter")
        for t in w.t.properties(i)["MetricTransformations"]
    }
    if (namespace, metric) in own_filters:
        return
    if namespace == w.code.namespace:
        if metric not in w.code.metrics:
            yield f"{where}: no code emits {metric}"
        elif names not in w.code.metrics[metric]:
            yield f"{where}: {metric} is not emitted under {names}"
        elif isinstance(dimensions, dict):
            yield from differs(f"{where}: {metric}'s inbox", dimensions["inbox"], "<InboxTable>")
            if dimensions.get("source", "kudos") not in w.code.sources:
                yield f"{where}: no source is called {dimensions['source']}"
    elif names not in AWS_METRICS.get((namespace, metric), []):
        yield f"{where}: {namespace} has no {metric} under {names} that is known here"
    elif isinstance(dimensions, dict):
        for name, value in dimensions.items():
            if value not in DIMENSION_VALUES[name]:
                yield f"{where}: {name} is {value}"


@check("every metric that an alarm watches exists, under these dimensions")
def alarmed_metrics(w):
    for logical_id in w.t.of_type("AWS::CloudWatch::Alarm"):
        watched = list(alarm_metrics(w.t.properties(logical_id)))
        if not watched:
            yield f"{logical_id} watches nothing that can be read here"
        for metric in watched:
            yield from metric_mistakes(w, logical_id, *metric)
        for entry in w.t.properties(logical_id).get("Metrics", []):
            query = entry.get("Expression", "")
            if "SELECT" in query and "WHERE inbox = '<InboxTable>'" not in query:
                yield f"{logical_id} also watches other stacks' inboxes"


@check("every metric on the dashboard exists, and the dashboard is JSON")
def dashboard(w):
    found, mistake = widgets(w)
    if mistake:
        yield mistake
        return
    for metric in dashboard_metrics(found):
        yield from metric_mistakes(w, "dashboard", *metric)
    searches = [row[0].get("expression", "") for x in found for row in x["properties"].get("metrics", []) if isinstance(row[0], dict)]
    for expression in searches:
        if "SEARCH" in expression and 'inbox="<InboxTable>"' not in expression:
            yield f"dashboard: also shows other stacks' inboxes: {expression}"
    for widget in found:
        query = widget["properties"].get("query", "")
        for name in re.findall(r"\b([A-Z][a-z]+[A-Z]\w+)\b", re.sub(r"<[^>]*>", "", query)):
            if name not in w.code.metrics:
                yield f"dashboard: no log line shows {name}"


@check("the dashboard shows the operational metrics that producers advise")
def advised(w):
    found, _ = widgets(w)
    shown = {metric for _, metric, _ in dashboard_metrics(found or [])}
    advice = "Received Applied SignatureRefused Failed InboxSize HandlerTime HandlerError OldestUnfinishedAge".split()
    for metric in advice:
        if metric not in shown:
            yield f"{metric} is not shown"
    if "status >= 500" not in json.dumps(found):
        yield "the last 5xx is not shown"


@check("what must be watched is watched, and each source's signatures and silence")
def watched(w):
    seen, by_alarm = set(), {}
    for logical_id in w.t.of_type("AWS::CloudWatch::Alarm"):
        for namespace, metric, dimensions in alarm_metrics(w.t.properties(logical_id)):
            seen.add((namespace, metric))
            if isinstance(dimensions, dict) and "source" in dimensions:
                by_alarm.setdefault(logical_id, set()).add((metric, dimensions["source"]))
    own = "EndpointDisabled Failed FailedRows HandlerError HandlerTime OldestUnfinishedAge SweepSucceeded Unusable"
    for metric in own.split():
        if (w.code.namespace, metric) not in seen:
            yield f"nothing watches {metric}"
    others = ["AWS/ApiGateway 5xx", "AWS/ApiGateway Latency", "AWS/Lambda Errors", "AWS/Lambda Throttles",
              "AWS/SQS ApproximateNumberOfMessagesVisible", "AWS/DynamoDB WriteThrottleEvents"]
    for name in others:
        if tuple(name.split()) not in seen:
            yield f"nothing watches {name}"
    for source in w.code.sources:
        name = source.capitalize()
        signatures = {("SignatureRefused", source), ("Received", source)}
        yield from differs(f"what Refused{name}Alarm watches", by_alarm.get(f"Refused{name}Alarm"), signatures)
        silence = {("Received", source)}
        yield from differs(f"what Silent{name}Alarm watches", by_alarm.get(f"Silent{name}Alarm"), silence)
    slow = {("HandlerTime", source) for source in w.code.sources}
    yield from differs("what HandlerSlowAlarm watches", by_alarm.get("HandlerSlowAlarm"), slow)


@check("thresholds fit the code's numbers")
def thresholds(w):
    limits = w.code.limits
    of = lambda i: w.t.properties(i).get("Threshold")  # noqa: E731
    waits = sum(min(limits["BACKOFF_BASE"] * 2**n, limits["BACKOFF_MAX"]) for n in range(limits["ATTEMPTS_MAX"] - 1))
    if not (of("OldestUnfinishedAlarm") or 0) > waits:
        yield f"OldestUnfinishedAlarm: ordinary attempts take up to {waits} s"
    if not (of("SlowAnswersAlarm") or 1e9) / 1000 < limits["INGRESS_BUDGET"]:
        yield "SlowAnswersAlarm: not below the ingress's budget"
    if not (of("HandlerSlowAlarm") or 1e9) / 1000 < limits["HANDLER_TIMEOUT"] / 2:
        yield "HandlerSlowAlarm: not below half of a handler's time"
    yield from differs("UnusableFloodAlarm's threshold", of("UnusableFloodAlarm"), limits["UNUSABLE_WHOLE_PER_HOUR"])
    missing = w.t.properties("NoSweepAlarm").get("TreatMissingData")
    yield from differs("what no value means to NoSweepAlarm", missing, "breaching")
    for source in w.code.sources:
        missing = w.t.properties(f"Silent{source.capitalize()}Alarm").get("TreatMissingData")
        yield from differs(f"what no value means to {source}'s silence", missing, "breaching")


@check("every alarm tells somebody and has its section in RUNBOOK.md, and every section its alarm")
def runbook(w):
    names = set()
    for logical_id in w.t.of_type("AWS::CloudWatch::Alarm"):
        is_ = w.t.properties(logical_id)
        name = str(is_.get("AlarmName", "")).removeprefix("<AWS::StackName>-")
        names.add(name)
        if is_.get("AlarmActions") not in (["<PageTopic>"], ["<TicketTopic>"]):
            yield f"{logical_id} tells nobody"
        if is_.get("ActionsEnabled", True) is not True:
            yield f"{logical_id} is switched off"
        if f"(RUNBOOK.md, {name})" not in is_.get("AlarmDescription", ""):
            yield f"{logical_id}'s description does not name its section"
    sections = set(re.findall(r"^### ([a-z-]+)$", w.runbook, re.MULTILINE))
    for name in sorted(names - sections):
        yield f"RUNBOOK.md has no section {name}"
    for name in sorted(sections - names):
        yield f"RUNBOOK.md explains {name}, which no alarm is called"


@check("the outputs name each source's address, the dashboard, the tables and the queues")
def outputs(w):
    values = [o["Value"] for o in w.t.plain(w.t.document.get("Outputs", {})).values()]
    for source in w.code.sources:
        url = f"<IngressApi.ApiEndpoint>{w.code.route_prefix}{source}"
        if url not in values:
            yield f"no output for {source}'s address"
    for value in ["<InboxTable>", "<BusinessTable>", *(f"<{q}>" for q in [*QUEUES, *QUEUES.values(), "SweeperDlq"])]:
        if value not in values:
            yield f"no output for {value}"
    if not any("<Dashboard>" in value for value in values):
        yield "no output for the dashboard"


@check("every parameter is explained and in a group, and none is left over")
def parameters(w):
    interface = w.t.document.get("Metadata", {}).get("AWS::CloudFormation::Interface", {})
    grouped = [name for group in interface.get("ParameterGroups", []) for name in group["Parameters"]]
    yield from differs("the grouped parameters", sorted(grouped), sorted(w.t.document["Parameters"]))
    for name, parameter in w.t.document["Parameters"].items():
        if not parameter.get("Description"):
            yield f"{name} is not explained"
