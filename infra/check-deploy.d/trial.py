"""What is tried on the deployed stack, step by step. A step that does not hold raises Failed."""

import json
import time
from dataclasses import replace

import commands
from apiera import CREDENTIALS
from deliveries import PRODUCT, Event, payment, post, product, session, signed
from report import Failed, same, say, within
from stack import FUNCTIONS, NAME
from tool import KEEPER, OPERATOR, Tool

# One run of a lane, and a sweep a minute; this machine may be busy.
FINISH_S, SWEEP_S = 60, 180
# The queues' maxReceiveCount, and how often a queue may show nothing in between.
RECEIVES_MAX, EMPTY_MAX = {"Event": 100, "EventFifo": 1000}, 50

STEPS = []

PAID, STARTED, CREATED = payment("evt_1", 1250), session("evt_1", "sess_1"), product("evt_1")
POISON = payment("evt_bad", "12.50")


def step(title):
    """Registers a step under the sentence that it makes sure of."""

    def register(function):
        STEPS.append((title, function))
        return function

    return register


def deliver(w, event, expected=200, secret=None, heard=None):
    """Delivers an event to its source's address, as its producer would."""
    url = w.stack.outputs[f"{event.source.capitalize()}WebhookUrl"]
    headers = signed(event, secret or w.secrets[event.source])
    status, body = post(url, w.stack.emulator.certificate, event.body, headers)
    same(f"the answer to {event.key} ({body})", status, expected)
    if heard:
        same(f"the answer to {event.key}", body, heard)


def finished(w, event, **expected):
    """Waits until the event's row shows what is expected, and returns the row."""

    def shows():
        row = w.stack.row(event.key) or {}
        return row if expected.items() <= row.items() else None

    try:
        return within(FINISH_S, f"{event.key} shows {expected}", shows)
    except Failed as failure:
        raise Failed(f"{failure}; its row: {w.stack.row(event.key)}") from None


def effects(w):
    """The business table, sorted; without times, which differ from run to run."""
    items = w.stack.items(w.stack.outputs["BusinessTableName"])
    plain = [
        {name: value for name, value in item.items() if not name.endswith("_at")} for item in items
    ]
    return sorted(plain, key=lambda item: (item["pk"], item["sk"]))


@step("every resource is there, and the dashboard shows every alarm")
def created(w):
    for logical_id, kind, status in w.stack.resources():
        if not status.endswith("_COMPLETE") or status.startswith("DELETE"):
            raise Failed(f"{logical_id} ({kind}) is {status}")
    alarms = w.stack.cloudwatch.describe_alarms()["MetricAlarms"]
    own = {a["AlarmArn"] for a in alarms if a["AlarmName"].startswith(f"{NAME}-")}
    body = w.stack.cloudwatch.get_dashboard(DashboardName=NAME)["DashboardBody"]
    lists = [x["properties"]["alarms"] for x in json.loads(body)["widgets"] if x["type"] == "alarm"]
    silent = {arn for arn in own if ":alarm:" + NAME + "-silent-" in arn}
    same("the dashboard's alarms", set(lists[0]), own - silent)
    say(f"   {len(w.stack.resources())} resources, {len(own)} alarms")


@step("the handlers' credentials can be replaced where they are kept")
def credentials(w):
    same("the first credentials", json.loads(w.stack.secret("apiera/api")), CREDENTIALS)
    w.secrets["apiera/api"] = replace_credentials(w.stack, w.apiera)


def replace_credentials(stack, apiera):
    """Lets the handlers call the stand-in."""
    here = {"api_url": apiera.url, "auth_url": apiera.url}
    value = json.dumps(CREDENTIALS | here)
    stack.secrets.put_secret_value(SecretId=f"{NAME}/apiera/api", SecretString=value)
    return value


@step("each producer hears 200, for a duplicate too; a forgery hears 401")
def answers(w):
    for event in (PAID, STARTED, CREATED, POISON, PAID):
        deliver(w, event, heard='{"received":true}')
    deliver(w, payment("evt_forged", 1), 401, secret="wrong")
    # Signed well, but not for this address.
    deliver(w, replace(STARTED, source="kudos"), 401, secret=w.secrets["kallglot"])
    url = w.stack.outputs["KudosWebhookUrl"]
    for path, heard in (
        (url.replace("kudos", "nobody"), '{"error":"no such source"}'),
        (url.replace("/webhooks/kudos", "/elsewhere"), '{"message":"Not Found"}'),
    ):
        answer = post(path, w.stack.emulator.certificate, PAID.body, {})
        same(f"the answer at {path}", answer, (404, heard))


@step("each event is done, and its effects are there once")
def effects_once(w):
    for event in (PAID, STARTED, CREATED):
        finished(w, event, status="done", outcome="applied")
    w.effects = [
        {"pk": f"apiera#{PRODUCT}", "sk": "product", "sku": "SKU-1", "name": "Product",
         "status": "active", "last_event_rank": 0},
        {"pk": "kallglot#sess_1", "sk": "state", "event_type": "session.started",
         "status": "started", "last_event_rank": 1},
        {"pk": "kudos#acme", "sk": "payment#evt_1", "amount_cents": 1250, "currency": "EUR"},
        {"pk": "kudos#acme", "sk": "totals", "payments": 1, "paid_cents": 1250},
    ]  # fmt: skip
    same("the business table", effects(w), w.effects)
    keys = {row["pk"] for row in w.stack.items(w.stack.outputs["InboxTableName"])}
    same("the rows", keys, {event.key for event in (PAID, STARTED, CREATED, POISON)})


@step("the poison event is failed and listed, and holds up nobody")
def poison(w):
    row = finished(w, POISON, status="failed", error_kind="permanent")
    same("what its row says", row["last_error"], "payload: data.amount_cents: is not i64")
    same("the failed events", listed(w, "failed#kudos"), [POISON.key])


def listed(w, shard):
    """What the index lists in one shard."""
    answer = w.stack.dynamodb.query(
        TableName=w.stack.outputs["InboxTableName"],
        IndexName="due",
        KeyConditionExpression="due_shard = :shard",
        ExpressionAttributeValues={":shard": {"S": shard}},
    )
    return [item["pk"]["S"] for item in answer["Items"]]


@step("all queues are empty, those of dead letters too")
def empty_queues(w):
    for name in ("EventQueue", "EventFifoQueue", "EventDlq", "EventFifoDlq", "SweeperDlq"):
        queue = w.stack.outputs[f"{name}Url"]
        within(FINISH_S, f"{name} is empty", lambda queue=queue: w.stack.depth(queue) == 0)


@step("what nobody answers becomes a dead letter, and the sweeper brings the event back")
def dead_letters(w):
    lost = {"Event": session("evt_lost", "sess_2"), "EventFifo": payment("evt_lost", 50)}
    switch_mappings(w, "Disabled")
    for queue, event in lost.items():
        deliver(w, event)
        receive_until_dead(w, queue, event)
    switch_mappings(w, "Enabled")
    for event in lost.values():
        make_due(w, event)
    for event in lost.values():
        wait = lambda event=event: w.stack.row(event.key)["status"] == "done"  # noqa: E731
        within(SWEEP_S, f"the sweeper brings {event.key} back", wait)
    sweeps = "".join(w.stack.lines("sweeper"))
    if '"SweepSucceeded"' not in sweeps:
        raise Failed("no sweep has counted itself as succeeded")
    same("failed sweeps", w.stack.depth(w.stack.outputs["SweeperDlqUrl"]), 0)
    w.effects += [
        {"pk": "kallglot#sess_2", "sk": "state", "event_type": "session.started",
         "status": "started", "last_event_rank": 1},
        {"pk": "kudos#acme", "sk": "payment#evt_lost", "amount_cents": 50, "currency": "EUR"},
    ]  # fmt: skip
    totals = next(item for item in w.effects if item["sk"] == "totals")
    totals |= {"payments": 2, "paid_cents": 1300}
    w.effects.sort(key=lambda item: (item["pk"], item["sk"]))
    same("the business table", effects(w), w.effects)


def switch_mappings(w, state):
    """Turns both queues' mappings on or off."""
    found = w.stack.functions.list_event_source_mappings(FunctionName=f"{NAME}-processor")
    same("the mappings", len(found["EventSourceMappings"]), 2)
    for mapping in found["EventSourceMappings"]:
        uuid = mapping["UUID"]
        w.stack.functions.update_event_source_mapping(UUID=uuid, Enabled=state == "Enabled")
        settled = lambda uuid=uuid: (  # noqa: E731
            w.stack.functions.get_event_source_mapping(UUID=uuid)["State"] == state
        )
        within(FINISH_S, f"a mapping is {state}", settled)
    # A poll that has begun may still take a message.
    time.sleep(3)


def receive_until_dead(w, queue, event):
    """Receives an event's pointer as often as it can be, and never answers."""
    source, dead = (w.stack.outputs[f"{queue}{kind}Url"] for kind in ("Queue", "Dlq"))
    received = empty = 0
    while w.stack.depth(dead) == 0:
        answer = w.stack.sqs.receive_message(QueueUrl=source, VisibilityTimeout=0)
        messages = answer.get("Messages", [])
        received += len(messages)
        empty = 0 if messages else empty + 1
        if received > RECEIVES_MAX[queue] or empty > EMPTY_MAX:
            raise Failed(f"{event.key}'s pointer: received {received} times, no dead letter")
    same(f"how often {event.key}'s pointer was received", received, RECEIVES_MAX[queue])
    (message,) = w.stack.sqs.receive_message(QueueUrl=dead)["Messages"]
    pointer = {"source": event.source, "event_id": event.id}
    same("the dead letter", json.loads(message["Body"]), pointer)
    w.stack.sqs.delete_message(QueueUrl=dead, ReceiptHandle=message["ReceiptHandle"])


def make_due(w, event):
    """Lets the row be due now instead of two minutes after it was stored."""
    w.stack.dynamodb.update_item(
        TableName=w.stack.outputs["InboxTableName"],
        Key={"pk": {"S": event.key}},
        UpdateExpression="SET due_at = :now",
        ExpressionAttributeValues={":now": {"N": f"{int(time.time())}000"}},
    )


@step("a secret is rotated without a deployment")
def rotated(w):
    w.secrets["kudos"], old = "kudos-second", w.secrets["kudos"]
    value = json.dumps({"secrets": [w.secrets["kudos"], old]}, separators=(",", ":"))
    w.stack.secrets.put_secret_value(SecretId=f"{NAME}/kudos", SecretString=value)
    w.rotated = value
    deliver(w, PAID)
    deliver(w, PAID, secret=old)


@step("an update without the secrets takes the parameters of samconfig.toml, and no secret")
def updated(w):
    w.stack.deploy()
    group = w.stack.logs.describe_log_groups(logGroupNamePrefix=f"/aws/lambda/{NAME}-ingress")
    same("the logs' retention", group["logGroups"][0]["retentionInDays"], 7)
    found = w.stack.functions.list_event_source_mappings(FunctionName=f"{NAME}-processor")
    scaling = [m.get("ScalingConfig") or {} for m in found["EventSourceMappings"]]
    same("the concurrency", [s.get("MaximumConcurrency") for s in scaling], [2, 2])
    names = [a["AlarmName"] for a in w.stack.cloudwatch.describe_alarms()["MetricAlarms"]]
    same("alarms on silence", [name for name in names if "-silent-" in name], [])
    secrets_are_kept(w)


def secrets_are_kept(w):
    """No deployment has written a first value over what was rotated."""
    same("kudos's secret", w.stack.secret("kudos"), w.rotated)
    same("Apiera's credentials", w.stack.secret("apiera/api"), w.secrets["apiera/api"])
    same("kallglot's secret", w.stack.secret("kallglot"), '{"secrets":["kallglot-first"]}')


@step("a changed parameter takes effect: events are remembered for 31 days")
def changed(w):
    w.stack.deploy({"RetentionDays": "31"})
    for function in FUNCTIONS:
        is_ = w.stack.functions.get_function_configuration(FunctionName=f"{NAME}-{function}")
        days = is_["Environment"]["Variables"]["RETENTION_DAYS"]
        same(f"{function}'s RETENTION_DAYS", days, "31")
    secrets_are_kept(w)
    event = payment("evt_2", 700)
    deliver(w, event)
    row = finished(w, event, status="done", outcome="applied")
    kept = row["expires_at"] - row["finished_at"] // 1000
    same("the days that it is remembered", round(kept / 86400, 1), 31.0)


@step("redeliveries of what was before the updates are duplicates, and nothing happens twice")
def redelivered(w):
    before = effects(w)
    for event in (PAID, STARTED, CREATED, POISON):
        row = w.stack.row(event.key)
        deliver(w, event, heard='{"received":true}')
        same(f"{event.key}'s row", w.stack.row(event.key), row)
    empty_queues(w)
    same("the business table", effects(w), before)


@step("the operator's tool works, with the rights that RUNBOOK.md lists and no others")
def operated(w):
    inbox = Tool(w.stack, "operator", OPERATOR)
    failed = [json.loads(line) for line in inbox("list", "--json").splitlines()]
    same("the failed events", [row["event_id"] for row in failed], [POISON.id])
    if "applied" not in inbox("show", "kudos", PAID.id):
        raise Failed(f"the tool does not show how {PAID.key} ended")
    first = finished(w, POISON, status="failed")
    inbox("redrive", "kudos", POISON.id)
    again = lambda: w.stack.row(POISON.key).get("finished_at", 0) > first["finished_at"]  # noqa: E731
    within(SWEEP_S, f"{POISON.key} is run again", again)
    inbox("pause", "kudos")
    inbox("resume", "kudos")
    # Secrets are none of its rights.
    inbox("secrets", "list", expected=3)
    keeper = Tool(w.stack, "keeper", KEEPER)
    if "kudos" not in keeper("secrets", "list"):
        raise Failed("the tool does not list the secrets")
    # Nobody has confirmed to be told of alarms, so something is found.
    found = json.loads(keeper("doctor", "--json", expected=1))
    denied = [one["what"] for one in found["not_checked"] if "not allowed" in one["what"]]
    same("what doctor may not look at", denied, [])


@step("every command of RUNBOOK.md runs, and those of the README and docs/deploy.md for operators")
def documented(w):
    unwanted = Event("kudos", "evt_unwanted", PAID.body.replace("evt_1", "evt_unwanted"))
    unwanted = replace(unwanted, body=unwanted.body.replace("payment.succeeded", "refund.created"))
    deliver(w, unwanted)
    ignored = finished(w, unwanted, status="ignored")
    commands.run(w)
    # Some of them have rotated the secret, given the poison event up, and run the ignored one again.
    deliver(w, PAID, secret="kudos-third")
    deliver(w, PAID, 401, secret="kudos-first")
    finished(w, POISON, status="dropped")
    again = lambda: w.stack.row(unwanted.key).get("finished_at", 0) > ignored["finished_at"]  # noqa: E731
    within(SWEEP_S, f"{unwanted.key} is run again", again)


@step("the stack is removed, and both tables stay with what is in them")
def removed(w):
    rows, before = w.stack.items(w.stack.outputs["InboxTableName"]), effects(w)
    w.stack.remove()
    left = w.stack.cloudformation.describe_stacks()["Stacks"]
    same("the stacks", [stack["StackName"] for stack in left if stack["StackName"] == NAME], [])
    same("the functions", w.stack.functions.list_functions()["Functions"], [])
    same("the queues", w.stack.sqs.list_queues().get("QueueUrls", []), [])
    same("the rows", w.stack.items(w.stack.outputs["InboxTableName"]), rows)
    same("the business table", effects(w), before)
