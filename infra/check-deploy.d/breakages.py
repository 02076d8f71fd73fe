"""Mistakes in the template. Each is deployed, and some step of the trial must notice.

Not part of every check: each takes a deployment and a wait. `infra/check-deploy --breakages` runs
them all.
"""

import trial

BREAKAGES = []


def breakage(step):
    """Registers a mistake under the step that has to notice it. It changes the template."""

    def register(function):
        BREAKAGES.append((function.__doc__, step, function))
        return function

    return register


def _properties(template, logical_id):
    return template["Resources"][logical_id]["Properties"]


def _without(template, role, sid):
    """Takes one statement out of a role."""
    (policy,) = _properties(template, role)["Policies"]
    statements = policy["PolicyDocument"]["Statement"]
    kept = [statement for statement in statements if statement["Sid"] != sid]
    assert len(kept) == len(statements) - 1, f"{role} has no statement {sid}"
    policy["PolicyDocument"]["Statement"] = kept


@breakage(trial.answers)
def environment(template, deployment):
    """the ingress does not hear where the secrets are"""
    del _properties(template, "IngressFunction")["Environment"]["Variables"]["SECRETS_PREFIX"]


@breakage(trial.answers)
def no_right_to_store(template, deployment):
    """the ingress may not store"""
    _without(template, "IngressRole", "Store")


@breakage(trial.answers)
def no_right_to_secrets(template, deployment):
    """the ingress may not read the signing secrets"""
    _without(template, "IngressRole", "ReadSigningSecrets")


@breakage(trial.answers)
def route(template, deployment):
    """the route is another one"""
    _properties(template, "IngressRoute")["RouteKey"] = "POST /hooks/{source}"


@breakage(trial.answers)
def secrets_exchanged(template, deployment):
    """two sources' secrets are exchanged"""
    kudos, kallglot = (_properties(template, f"{s}Secret") for s in ("Kudos", "Kallglot"))
    kudos["SecretString"], kallglot["SecretString"] = (
        kallglot["SecretString"],
        kudos["SecretString"],
    )


@breakage(trial.effects_once)
def mapping(template, deployment):
    """the processor reads the wrong queue"""
    events = _properties(template, "ProcessorFunction")["Events"]
    events["Events"]["Properties"]["Queue"] = {"Fn::GetAtt": ["EventDlq", "Arn"]}


@breakage(trial.effects_once)
def program(template, deployment):
    """the processor is the sweeper's program"""
    _properties(template, "ProcessorFunction")["CodeUri"] = "SweeperFunction"


@breakage(trial.effects_once)
def no_right_to_effects(template, deployment):
    """the processor may not write effects"""
    _without(template, "ProcessorRole", "ApplyEffects")


@breakage(trial.effects_once)
def no_right_to_credentials(template, deployment):
    """the processor may not read API credentials"""
    _without(template, "ProcessorRole", "ReadApiCredentials")


@breakage(trial.poison)
def index(template, deployment):
    """the index does not show failures: another key"""
    (due,) = _properties(template, "InboxTable")["GlobalSecondaryIndexes"]
    due["KeySchema"][0]["AttributeName"] = "shard"
    for attribute in _properties(template, "InboxTable")["AttributeDefinitions"]:
        if attribute["AttributeName"] == "due_shard":
            attribute["AttributeName"] = "shard"


@breakage(trial.dead_letters)
def dead_letter_queue(template, deployment):
    """dead letters go elsewhere"""
    redrive = _properties(template, "EventQueue")["RedrivePolicy"]
    redrive["deadLetterTargetArn"] = {"Fn::GetAtt": ["SweeperDlq", "Arn"]}


@breakage(trial.dead_letters)
def schedule(template, deployment):
    """the schedule is off"""
    _properties(template, "SweepSchedule")["State"] = "DISABLED"


@breakage(trial.dead_letters)
def no_right_to_send_again(template, deployment):
    """the sweeper may not send"""
    _without(template, "SweeperRole", "SendAgain")


@breakage(trial.updated)
def secret_rewritten(template, deployment):
    """an update changes the form of a secret, and so writes its first value again"""
    if deployment > 1:
        secret = _properties(template, "KudosSecret")
        secret["SecretString"] = {"Fn::Sub": '{"secrets": ["${KudosSigningSecret}"]}'}


@breakage(trial.changed)
def retention(template, deployment):
    """the functions do not hear of the parameter"""
    variables = template["Globals"]["Function"]["Environment"]["Variables"]
    variables["RETENTION_DAYS"] = "30"


@breakage(trial.removed)
def table_deleted(template, deployment):
    """the inbox is deleted with the stack"""
    del template["Resources"]["InboxTable"]["DeletionPolicy"]
