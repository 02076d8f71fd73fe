"""Alarms, their runbook, and the dashboard."""

import json
import re
from itertools import accumulate

from agree import FUNCTIONS, QUEUES, check, differs

# AWS's own metrics that are watched, and the dimensions that AWS publishes them under.
TABLE = [("TableName",), ("TableName", "GlobalSecondaryIndexName")]
AWS_METRICS = {
    ("AWS/ApiGateway", "5xx"): [("ApiId",)],
    ("AWS/ApiGateway", "Count"): [("ApiId",)],
    ("AWS/ApiGateway", "Latency"): [("ApiId",)],
    ("AWS/Lambda", "ConcurrentExecutions"): [("FunctionName",)],
    ("AWS/Lambda", "Errors"): [("FunctionName",)],
    ("AWS/Lambda", "Throttles"): [("FunctionName",)],
    ("AWS/SQS", "ApproximateNumberOfMessagesVisible"): [("QueueName",)],
    ("AWS/SQS", "ApproximateNumberOfMessagesNotVisible"): [("QueueName",)],
    ("AWS/DynamoDB", "ReadThrottleEvents"): TABLE,
    ("AWS/DynamoDB", "WriteThrottleEvents"): TABLE,
}
# What each dimension of an AWS metric may hold here.
DIMENSION_VALUES = {
    "ApiId": {"<IngressApi>"},
    "FunctionName": {f"<{i}>" for i in FUNCTIONS.values()},
    "QueueName": {f"<{q}.QueueName>" for q in [*QUEUES, *QUEUES.values(), "SweeperDlq"]},
    "TableName": {"<InboxTable>", "<BusinessTable>"},
    "GlobalSecondaryIndexName": {"due"},
}
# The delays before a delivery and its repetitions in seconds, as the producers document them, and how
# far they stray from it.
DELAYS = {
    "kudos": ([0, 30, 120, 600, 1800, 3600], 0.25),
    "kallglot": ([0, 60, 300, 1800, 7200, 18000, 36000, 86400], 0.1),
    "apiera": ([0, 30, 60, 300, 900, 1800, 3600, 7200, 14400, 28800, 86400], 0),
}
# As far as an alarm with periods of an hour looks back: a week.
LOOKS_BACK_S = 604800


def queried(expression):
    """(namespace, metric, dimension names) that a query or a search names."""
    for metric, namespace, names in re.findall(
        r'SELECT \w+\((\w+)\)\s+FROM SCHEMA\("?([\w/]+)"?, ([^)]+)\)', expression
    ):
        yield namespace, metric, tuple(name.strip(' "') for name in names.split(","))
    for scope, rest in re.findall(r"SEARCH\('\{([^}]+)\}(.*?)'", expression):
        namespace, *names = scope.split(",")
        for metric in re.findall(r'MetricName="(\w+)"', rest):
            yield namespace, metric, tuple(names)


def alarm_metrics(alarm):
    """(namespace, metric, {dimension: value}) and (namespace, metric, names) that an alarm watches."""
    if "MetricName" in alarm:
        yield alarm["Namespace"], alarm["MetricName"], {
            d["Name"]: d["Value"] for d in alarm.get("Dimensions", [])
        }
    for entry in alarm.get("Metrics", []):
        metric = entry.get("MetricStat", {}).get("Metric")
        if metric:
            yield metric["Namespace"], metric["MetricName"], {
                d["Name"]: d["Value"] for d in metric.get("Dimensions", [])
            }
        yield from queried(entry.get("Expression", ""))


def widgets(w):
    """The dashboard's widgets; a mistake as text instead."""
    bodies = [
        w.t.properties(i).get("DashboardBody", "")
        for i in w.t.of_type("AWS::CloudWatch::Dashboard")
    ]
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


def query_mistakes(logical_id, entry):
    query = entry["Expression"]
    if "WHERE \"inbox\" = '<InboxTable>'" not in query:
        yield f"{logical_id} also watches other stacks' inboxes"
    # SOURCE is one of some four hundred reserved words:
    # https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/cloudwatch-metrics-insights-reserved-keywords.html
    for name in re.findall(r"(?<![\"\w])(?:inbox|source|event_type)(?![\"\w])", query):
        yield f"{logical_id}: {name} is not in quotes"
    if "Period" not in entry:
        yield f"{logical_id}: a query in an alarm needs a period"
    # A query of several series must say which of them the alarm looks at first:
    # https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/Create_Metrics_Insights_Alarm.html
    function = re.match(r"SELECT (\w+)\(", query).group(1)
    if "GROUP BY" in query and not query.strip().endswith(f"ORDER BY {function}() DESC"):
        yield f"{logical_id}: series without an order, the worst first"


@check("a value that is late hides nothing")
def late_values(w):
    # CloudWatch replaces a newest value that is only late by the filling, so that an alarm on one
    # value never sees it; where nothing is filled, it meets older values before what is missing counts:
    # https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html
    # https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarms-and-missing-data.html
    for logical_id in w.t.of_type("AWS::CloudWatch::Alarm"):
        is_ = w.t.properties(logical_id)
        expressions = [entry.get("Expression", "") for entry in is_.get("Metrics", [])]
        filled = any("FILL" in expression for expression in expressions)
        if filled != (is_.get("TreatMissingData") == "breaching"):
            yield f"{logical_id}: filled where what is missing is good, or not where it is bad"


@check("every metric that an alarm watches exists, under these dimensions")
def alarmed_metrics(w):
    for logical_id in w.t.of_type("AWS::CloudWatch::Alarm"):
        watched = list(alarm_metrics(w.t.properties(logical_id)))
        if not watched:
            yield f"{logical_id} watches nothing that can be read here"
        for metric in watched:
            yield from metric_mistakes(w, logical_id, *metric)
        for entry in w.t.properties(logical_id).get("Metrics", []):
            if "SELECT" in entry.get("Expression", ""):
                yield from query_mistakes(logical_id, entry)


@check("every metric on the dashboard exists, and the dashboard is JSON")
def dashboard(w):
    found, mistake = widgets(w)
    if mistake:
        yield mistake
        return
    for metric in dashboard_metrics(found):
        yield from metric_mistakes(w, "dashboard", *metric)
    searches = [
        row[0].get("expression", "")
        for x in found
        for row in x["properties"].get("metrics", [])
        if isinstance(row[0], dict)
    ]
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
    own = (
        "AnsweredFault BodyMismatch EndpointDisabled Failed FailedRows HandlerError HandlerTime "
        "OldestUnfinishedAge SweepSucceeded Unusable"
    )
    for metric in own.split():
        if (w.code.namespace, metric) not in seen:
            yield f"nothing watches {metric}"
    others = [
        "AWS/ApiGateway 5xx",
        "AWS/ApiGateway Latency",
        "AWS/Lambda Errors",
        "AWS/Lambda Throttles",
        "AWS/SQS ApproximateNumberOfMessagesVisible",
        "AWS/DynamoDB WriteThrottleEvents",
    ]
    for name in others:
        if tuple(name.split()) not in seen:
            yield f"nothing watches {name}"
    for source in w.code.sources:
        name = source.capitalize()
        signatures = {("SignatureRefused", source), ("Received", source)}
        yield from differs(
            f"what Refused{name}Alarm watches", by_alarm.get(f"Refused{name}Alarm"), signatures
        )
        silence = {("Authentic", source)}
        yield from differs(
            f"what Silent{name}Alarm watches", by_alarm.get(f"Silent{name}Alarm"), silence
        )
    slow = {("HandlerTime", source) for source in w.code.sources}
    yield from differs("what HandlerSlowAlarm watches", by_alarm.get("HandlerSlowAlarm"), slow)


@check("thresholds fit the code's numbers")
def thresholds(w):
    limits = w.code.limits
    of = lambda i: w.t.properties(i).get("Threshold")  # noqa: E731
    waits = sum(
        min(limits["BACKOFF_BASE"] * 2**n, limits["BACKOFF_MAX"])
        for n in range(limits["ATTEMPTS_MAX"] - 1)
    )
    attempts = waits + limits["ATTEMPTS_MAX"] * limits["HANDLER_TIMEOUT"]
    if not (of("OldestUnfinishedAlarm") or 0) > attempts:
        yield f"OldestUnfinishedAlarm: ordinary attempts take up to {attempts} s"
    if not (of("SlowAnswersAlarm") or 1e9) / 1000 < limits["INGRESS_BUDGET"]:
        yield "SlowAnswersAlarm: not below the ingress's budget"
    if not (of("HandlerSlowAlarm") or 1e9) / 1000 < limits["HANDLER_TIMEOUT"] / 2:
        yield "HandlerSlowAlarm: not below half of a handler's time"
    yield from differs(
        "UnusableFloodAlarm's threshold",
        of("UnusableFloodAlarm"),
        limits["UNUSABLE_WHOLE_PER_HOUR"],
    )
    missing = w.t.properties("NoSweepAlarm").get("TreatMissingData")
    yield from differs("what no value means to NoSweepAlarm", missing, "breaching")
    for source in w.code.sources:
        missing = w.t.properties(f"Silent{source.capitalize()}Alarm").get("TreatMissingData")
        yield from differs(f"what no value means to {source}'s silence", missing, "breaching")
        hours = w.t.document["Parameters"].get(f"{source.capitalize()}SilenceHours", {})
        if hours.get("MaxValue", LOOKS_BACK_S) * 3600 > LOOKS_BACK_S:
            yield f"{source}'s silence may be longer than CloudWatch looks back"


@check("one event that is answered 503 each time is told of before its producer gives up")
def quiet_faults(w):
    is_ = w.t.properties("FaultsAnsweredAlarm")
    (query,) = is_.get("Metrics", [{}])
    most, enough = is_.get("EvaluationPeriods", 1), is_.get("DatapointsToAlarm", 1)
    if not 0 < is_.get("Threshold", 2) <= 1:
        yield "FaultsAnsweredAlarm: a source that stores nothing has an average of 1"
    for source, (delays, jitter) in DELAYS.items():
        for stray in (1 - jitter, 1, 1 + jitter):
            attempts = list(accumulate(stray * delay for delay in delays))[:-1]
            # A period may begin anywhere before the first attempt.
            for before in range(0, query.get("Period", 60), 10):
                bad = sorted({(before + at) // query.get("Period", 60) for at in attempts})
                spans = [last - first for first, last in zip(bad, bad[enough - 1 :])]
                if not any(span < most for span in spans):
                    yield f"FaultsAnsweredAlarm: the attempts of one event of {source} do not raise it"
                    return


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
