"""The template as the emulator can take it: the real one, but for the changes in this table.

Each change says what it takes away and why. One that finds nothing to change is an error: then the
template or the emulator has moved on, and the change can go.
"""

from report import Failed

# (what is other than deployed on AWS, why the emulator needs it, what does it).
CHANGES = []

# The rights on SQS that also stand for a batch of the same.
BATCHED = ("sqs:SendMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility")


def change(what, why):
    """Registers a change. It gets the template and the parameters' values; it counts its places."""

    def register(function):
        CHANGES.append((what, why, function))
        return function

    return register


def derived(template, values):
    """The changed template (in place), and a line for each change."""
    lines = []
    for what, why, function in CHANGES:
        places = function(template, values)
        if not places:
            raise Failed(f"nothing to change: {what}: correct infra/check-deploy.d/derive.py")
        lines.append(f"{what} ({places}): {why}")
    return lines


def _of_type(template, kind):
    return [r for r in template["Resources"].values() if r["Type"] == kind]


def _value(template, values, reference):
    name = reference["Ref"]
    return values.get(name, template["Parameters"][name]["Default"])


@change(
    "alarms on metric math or on queries watch one metric that nobody emits",
    "it refuses alarms with `Metrics`; name, text, topic and threshold stay",
)
def plain_alarms(template, values):
    alarms = [a["Properties"] for a in _of_type(template, "AWS::CloudWatch::Alarm")]
    alarms = [properties for properties in alarms if "Metrics" in properties]
    for properties in alarms:
        del properties["Metrics"]
        properties |= {
            "Namespace": "Emulator",
            "MetricName": "Nothing",
            "Period": 60,
            "Statistic": "Sum",
        }
    return len(alarms)


@change(
    "deletion protection is a boolean and no parameter",
    "it takes the parameter's text, 'false', for true",
)
def literal_protection(template, values):
    tables = [t["Properties"] for t in _of_type(template, "AWS::DynamoDB::Table")]
    for properties in tables:
        text = _value(template, values, properties["DeletionProtectionEnabled"])
        properties["DeletionProtectionEnabled"] = text == "true"
    return len(tables)


@change(
    "the processor's concurrency is a number and no parameter",
    "it compares the parameter's text with a number and polls no more",
)
def literal_concurrency(template, values):
    places = 0
    for function in _of_type(template, "AWS::Serverless::Function"):
        for event in function["Properties"].get("Events", {}).values():
            scaling = event["Properties"].get("ScalingConfig")
            if scaling:
                value = _value(template, values, scaling["MaximumConcurrency"])
                scaling["MaximumConcurrency"] = int(value)
                places += 1
    return places


@change(
    "who may send, delete or hide a message may do so in batches",
    "it knows a right of its own for each batch call; on SQS the single call's right is for both",
)
def batch_rights(template, values):
    places = 0
    for role in _of_type(template, "AWS::IAM::Role"):
        for policy in role["Properties"]["Policies"]:
            for statement in policy["PolicyDocument"]["Statement"]:
                actions = statement["Action"]
                actions = actions if isinstance(actions, list) else [actions]
                more = [f"{action}Batch" for action in actions if action in BATCHED]
                statement["Action"] = actions + more
                places += len(more)
    return places
