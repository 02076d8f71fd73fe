"""Who may do what, and who may see what."""

import json

from agree import FUNCTIONS, LOGS, QUEUES, check, differs, many

ROLES = {"ingress": "IngressRole", "processor": "ProcessorRole", "sweeper": "SweeperRole"}
# What a call needs to be allowed, where that is not its own name.
ACTIONS = {
    "send_message_batch": "SendMessage",
    "change_message_visibility_batch": "ChangeMessageVisibility",
    "delete_message_batch": "DeleteMessage",
}
# A transaction needs what its actions need: the row's own update, and any effect.
EFFECTS = ["ConditionCheckItem", "DeleteItem", "PutItem", "UpdateItem"]
INBOX, BUSINESS = "<InboxTable.Arn>", "<BusinessTable.Arn>"
SECRETS = (
    "arn:<AWS::Partition>:secretsmanager:<AWS::Region>:<AWS::AccountId>:secret:<AWS::StackName>/"
)


def rights(w, role, effect="Allow"):
    """(action, resource) of a role's statements."""
    found = set()
    for policy in w.t.properties(role).get("Policies", []):
        for statement in policy["PolicyDocument"]["Statement"]:
            if statement["Effect"] == effect:
                found |= {
                    (a, r) for a in many(statement["Action"]) for r in many(statement["Resource"])
                }
    return found


def needed(w, function):
    """(action, resource) that a function cannot do without."""
    need = {
        (f"logs:{action}", f"<{LOGS[function]}.Arn>")
        for action in ("CreateLogStream", "PutLogEvents")
    }
    tables = {"inbox": INBOX, "business": BUSINESS, "index": f"{INBOX}/index/{w.code.index[0]}"}
    queues = [f"<{queue}.Arn>" for queue in QUEUES]
    for service, call, table in w.code.calls[function]:
        action = ACTIONS.get(call) or "".join(word.capitalize() for word in call.split("_"))
        if call == "transact_write_items":
            need |= {("dynamodb:UpdateItem", INBOX)} | {
                (f"dynamodb:{effect}", BUSINESS) for effect in EFFECTS
            }
        elif service == "dynamodb":
            need.add((f"dynamodb:{action}", tables[table]))
        elif service == "sqs":
            need |= {(f"sqs:{action}", queue) for queue in queues}
        else:
            which = "*/api-*" if function == "processor" else "*"
            need.add((f"secretsmanager:{action}", SECRETS + which))
    # What Lambda does in the function's name.
    if function == "processor":
        need |= {
            (f"sqs:{a}", q)
            for a in ("ReceiveMessage", "DeleteMessage", "GetQueueAttributes")
            for q in queues
        }
    if function == "sweeper":
        need.add(("sqs:SendMessage", "<SweeperDlq.Arn>"))
    return need


@check("each function may do what its code calls, on what it calls it on, and nothing more")
def least_privilege(w):
    for function, role in ROLES.items():
        yield from differs(
            f"{function}'s role", w.t.properties(FUNCTIONS[function]).get("Role"), f"<{role}.Arn>"
        )
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
            yield from differs(
                f"who may be {role}",
                statement["Principal"],
                {"Service": f"{service}.amazonaws.com"},
            )
    schedule_may = {
        ("lambda:InvokeFunction", "<SweeperFunction.Arn>"),
        ("sqs:SendMessage", "<SweeperDlq.Arn>"),
    }
    yield from differs("what the schedule may", rights(w, "SweepScheduleRole"), schedule_may)


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
