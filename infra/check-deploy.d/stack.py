"""The deployed stack: made and changed with SAM CLI as docs/deploy.md says, looked at with boto3."""

import json
import subprocess
import tomllib
from pathlib import Path

import boto3
from samtranslator.yaml_helper import yaml_parse

import derive
from report import Failed, say

NAME = "webhook-inbox-dev"
STAGE = "dev"
SAM, SAM_S = "target/tools/sam/bin/sam", 300
FUNCTIONS = ("ingress", "processor", "sweeper")


class Stack:
    """One stack on an emulator, of what `sam build` has made for an architecture."""

    def __init__(self, emulator, architecture, breakage=None):
        self.emulator = emulator
        self.architecture = architecture
        self.build = Path("target/sam-build") / architecture
        self.breakage = breakage
        self.deployments = 0
        self.values = {}
        self.outputs = {}
        session = boto3.Session(
            aws_access_key_id=emulator.environment["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=emulator.environment["AWS_SECRET_ACCESS_KEY"],
            region_name=emulator.environment["AWS_DEFAULT_REGION"],
        )
        client = lambda service: session.client(  # noqa: E731
            service,
            endpoint_url=emulator.environment["AWS_ENDPOINT_URL"],
            verify=str(emulator.certificate),
        )
        self.cloudformation = client("cloudformation")
        self.cloudwatch = client("cloudwatch")
        self.dynamodb = client("dynamodb")
        self.functions = client("lambda")
        self.iam = client("iam")
        self.logs = client("logs")
        self.secrets = client("secretsmanager")
        self.sqs = client("sqs")

    def deploy(self, overrides=None):
        """`sam deploy --config-env dev`, with these parameters or with samconfig.toml's."""
        config = tomllib.loads(Path("samconfig.toml").read_text(encoding="utf-8"))
        listed = config[STAGE]["deploy"]["parameters"]["parameter_overrides"]
        named = overrides or dict(line.split("=", 1) for line in listed)
        self.values |= named
        template = yaml_parse((self.build / "template.yaml").read_text(encoding="utf-8"))
        changes = derive.derived(template, self.values)
        self.deployments += 1
        if self.breakage:
            self.breakage(template, self.deployments)
        for resource in template["Resources"].values():
            if resource["Type"] == "AWS::Serverless::Function":
                program = self.build / resource["Properties"]["CodeUri"]
                resource["Properties"]["CodeUri"] = str(program.resolve())
        path = self.emulator.work / "template.json"
        path.write_text(json.dumps(template, default=str), encoding="utf-8")
        command = ["deploy", "--template-file", str(path), "--config-env", STAGE]
        command += ["--config-file", str(Path("samconfig.toml").resolve())]
        if overrides:
            pairs = [f"{name}={value}" for name, value in overrides.items()]
            command += ["--parameter-overrides", *pairs]
        self._run(*command)
        self.outputs = self._outputs()
        return changes

    def remove(self):
        """`sam delete`."""
        self._run("delete", "--no-prompts", "--stack-name", NAME, "--region", "us-east-1")

    def _run(self, *command):
        say(f"$ sam {' '.join(shown(word) for word in command)}")
        done = subprocess.run(
            [SAM, *command],
            env=self.emulator.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SAM_S,
        )
        with (self.emulator.work / "sam.log").open("a", encoding="utf-8") as log:
            log.write(done.stdout + done.stderr)
        if done.returncode:
            last = (done.stdout + done.stderr).strip().splitlines()[-12:]
            raise Failed("sam has failed:\n" + "\n".join(last))

    def _outputs(self):
        (stack,) = self.cloudformation.describe_stacks(StackName=NAME)["Stacks"]
        return {o["OutputKey"]: o["OutputValue"] for o in stack["Outputs"]}

    def resources(self):
        """(logical id, type, status) of every resource."""
        pages = self.cloudformation.get_paginator("list_stack_resources").paginate(StackName=NAME)
        return [
            (r["LogicalResourceId"], r["ResourceType"], r["ResourceStatus"])
            for page in pages
            for r in page["StackResourceSummaries"]
        ]

    def items(self, table):
        """A table's items as plain values, without the inbox's own."""
        pages = self.dynamodb.get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
        plain = lambda item: {name: _plain(value) for name, value in item.items()}  # noqa: E731
        found = [plain(item) for page in pages for item in page["Items"]]
        return [item for item in found if not item["pk"].startswith("~")]

    def row(self, key):
        """An event's row; None if there is none."""
        answer = self.dynamodb.get_item(
            TableName=self.outputs["InboxTableName"],
            Key={"pk": {"S": key}},
            ConsistentRead=True,
        )
        item = answer.get("Item")
        return item and {name: _plain(value) for name, value in item.items()}

    def secret(self, name):
        """A secret's current value."""
        return self.secrets.get_secret_value(SecretId=f"{NAME}/{name}")["SecretString"]

    def depth(self, queue):
        """Messages that wait in a queue or are being processed."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        attributes = self.sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=names)
        return sum(int(attributes["Attributes"][name]) for name in names)

    def lines(self, function):
        """What a function has logged."""
        group = f"/aws/lambda/{NAME}-{function}"
        pages = self.logs.get_paginator("filter_log_events").paginate(logGroupName=group)
        return [event["message"] for page in pages for event in page["events"]]


def shown(word):
    """A word of a command line; secrets and long paths are not for the output."""
    name, equals, _ = word.partition("=")
    if equals and ("Secret" in name or name in ("ApieraClientId", "ApieraOrganization")):
        return f"{name}=…"
    return Path(word).name if word.startswith("/") else word


def _plain(value):
    ((kind, inner),) = value.items()
    return int(inner) if kind == "N" else inner
