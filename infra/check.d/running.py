"""The functions, and what runs them: mappings, the API, the schedule."""

import json
import re

from agree import FUNCTIONS, LOGS, QUEUES, check, differs

# What the environment's variables stand for.
VARIABLES = {
    "INBOX_TABLE": "<InboxTable>",
    "BUSINESS_TABLE": "<BusinessTable>",
    "QUEUE_URL": "<EventQueue>",
    "FIFO_QUEUE_URL": "<EventFifoQueue>",
    "SECRETS_PREFIX": "<AWS::StackName>",
    "RETENTION_DAYS": "<RetentionDays>",
}
# What the access log of an HTTP API may name, of what concerns requests like ours (REST APIs know more):
# https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-logging-variables.html
ACCESS_LOG = set(
    "accountId apiId dataProcessed domainName domainPrefix error.message error.messageString "
    "error.responseType extendedRequestId httpMethod identity.sourceIp identity.userAgent "
    "integration.error integration.integrationStatus integration.latency integration.requestId "
    "integration.status integrationErrorMessage integrationLatency integrationStatus path protocol "
    "requestId requestTime requestTimeEpoch responseLatency responseLength routeKey stage "
    "status".split()
)


@check("the functions' timeouts are those that the code counts on")
def timeouts(w):
    for function, constant in (
        ("ingress", "INGRESS_TIMEOUT"),
        ("processor", "PROCESSOR_TIMEOUT"),
        ("sweeper", "SWEEPER_TIMEOUT"),
    ):
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


@check("the functions are built and run as what they are")
def build(w):
    for function, logical_id in FUNCTIONS.items():
        is_, metadata = w.t.properties(logical_id), w.t.resources.get(logical_id, {}).get(
            "Metadata", {}
        )
        yield from differs(f"{function}'s runtime", is_.get("Runtime"), "provided.al2023")
        yield from differs(f"{function}'s handler", is_.get("Handler"), "bootstrap")
        yield from differs(
            f"{function}'s architecture", is_.get("Architectures"), ["<Architecture>"]
        )
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
        yield from differs(
            f"{function}'s log level", config.get("ApplicationLogLevel"), "<LogLevel>"
        )
    allowed = set(w.t.document["Parameters"].get("LogLevel", {}).get("AllowedValues", []))
    if not allowed or allowed & {"WARN", "ERROR", "FATAL"}:
        yield "LogLevel lets Lambda drop the metrics, which are lines of level INFO"
    for group in w.t.of_type("AWS::Logs::LogGroup"):
        yield from differs(
            f"{group}'s retention",
            w.t.properties(group).get("RetentionInDays"),
            "<LogRetentionDays>",
        )


@check("both queues call the processor record by record, and no filter loses a message")
def mappings(w):
    is_ = {}
    for logical_id in w.t.of_type("AWS::Lambda::EventSourceMapping"):
        properties = w.t.properties(logical_id)
        is_[properties.get("EventSourceArn")] = properties
    yield from differs("what is mapped", set(is_), {f"<{queue}.Arn>" for queue in QUEUES})
    for arn, mapping in is_.items():
        yield from differs(f"{arn}'s function", mapping.get("FunctionName"), "<ProcessorFunction>")
        yield from differs(
            f"{arn}'s batch", mapping.get("BatchSize", 10), w.code.limits["BATCH_RECORDS_MAX"]
        )
        yield from differs(
            f"{arn}'s answer", mapping.get("FunctionResponseTypes"), ["ReportBatchItemFailures"]
        )
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
            yield f"nothing bounds the processor on {mapping.get('EventSourceArn')}"
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
    yield from differs(
        "the routes", [r.get("RouteKey") for r in routes], [f"POST {w.code.route_prefix}{{source}}"]
    )
    yield from differs(
        "the route's target",
        [r.get("Target") for r in routes],
        ["integrations/<IngressIntegration>"],
    )
    yield from differs("the integration", integration.get("IntegrationType"), "AWS_PROXY")
    yield from differs("its function", integration.get("IntegrationUri"), "<IngressFunction.Arn>")
    yield from differs("the payload's format", integration.get("PayloadFormatVersion"), "2.0")
    yield from differs(
        "the stage", (stage.get("StageName"), stage.get("AutoDeploy")), ("$default", True)
    )
    settings = stage.get("DefaultRouteSettings", {})
    limits = [settings.get(f"Throttling{kind}Limit") for kind in ("Rate", "Burst")]
    yield from differs("the throttling", limits, ["<RequestRate>", "<RequestBurst>"])
    log = stage.get("AccessLogSettings", {})
    yield from differs("the access log", log.get("DestinationArn"), "<ApiLogs.Arn>")
    yield from access_log_mistakes(log.get("Format", ""))
    permission = w.t.properties("IngressPermission")
    yield from differs("who may call", permission.get("Principal"), "apigateway.amazonaws.com")
    ours = "arn:<AWS::Partition>:execute-api:<AWS::Region>:<AWS::AccountId>:<IngressApi>/*/POST/webhooks/*"
    yield from differs("what may call", permission.get("SourceArn"), ours)


def access_log_mistakes(text):
    try:
        fields = json.loads(text)
    except ValueError:
        yield "the access log's format is no JSON on one line"
        return
    for name in sorted({"status", "integrationStatus"} - set(fields)):
        yield f"the metric filter looks for {name}, which the access log does not show"
    for variable in sorted(set(re.findall(r"\$context\.([\w.]+)", text)) - ACCESS_LOG):
        yield f"HTTP APIs do not know $context.{variable}, and refuse the stage"


@check("one sweep a minute, under the stack's name, not repeated, and failures are kept")
def schedule(w):
    schedules = [w.t.properties(i) for i in w.t.of_type("AWS::Scheduler::Schedule")]
    if len(schedules) != 1:
        yield f"{len(schedules)} schedules"
        return
    (is_,) = schedules
    target = is_.get("Target", {})
    yield from differs("the schedule", is_.get("ScheduleExpression"), "rate(1 minute)")
    yield from differs("its state", is_.get("State", "ENABLED"), "ENABLED")
    if "<AWS::StackName>" not in str(is_.get("Name")):
        yield "the schedule's name does not hold the stack's: a second stack could not be made"
    yield from differs("its function", target.get("Arn"), "<SweeperFunction.Arn>")
    yield from differs(
        "its repetitions", target.get("RetryPolicy", {}).get("MaximumRetryAttempts", 185), 0
    )
    yield from differs(
        "its dead letters", target.get("DeadLetterConfig", {}).get("Arn"), "<SweeperDlq.Arn>"
    )
    configs = [w.t.properties(i) for i in w.t.of_type("AWS::Lambda::EventInvokeConfig")]
    sweeps = next((c for c in configs if c.get("FunctionName") == "<SweeperFunction>"), {})
    yield from differs("the sweeper's repetitions", sweeps.get("MaximumRetryAttempts", 2), 0)
    failed = sweeps.get("DestinationConfig", {}).get("OnFailure", {}).get("Destination")
    yield from differs("where failed sweeps go", failed, "<SweeperDlq.Arn>")
