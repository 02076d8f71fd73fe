"""The operator's tool on the deployed stack, as a user with the rights that RUNBOOK.md lists for it."""

import json
import re
import subprocess
from pathlib import Path

from report import Failed
from stack import NAME

INBOX = "target/debug/inbox"
# Paragraphs of RUNBOOK.md: what most commands need, and what more some do.
OPERATOR = ("What it needs",)
KEEPER = (*OPERATOR, "What secrets and doctor need besides")
COMMAND_S = 60


class Tool:
    """`inbox --stack NAME`, with keys of its own."""

    def __init__(self, stack, user, paragraphs):
        self.stack = stack
        iam = stack.iam
        iam.create_user(UserName=user)
        rights = [right for each in paragraphs for right in _statements(stack, each)]
        policy = {"Version": "2012-10-17", "Statement": rights}
        iam.put_user_policy(
            UserName=user, PolicyName="inbox", PolicyDocument=json.dumps(policy)
        )
        key = iam.create_access_key(UserName=user)["AccessKey"]
        self.environment = stack.emulator.environment | {
            "AWS_ACCESS_KEY_ID": key["AccessKeyId"],
            "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"],
            "AWS_REGION": "us-east-1",
            "SSL_CERT_FILE": str(stack.emulator.certificate),
        }

    def __call__(self, *arguments, expected=0):
        """What a command prints, if it ends as expected."""
        done = subprocess.run(
            [INBOX, "--stack", NAME, *arguments],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=COMMAND_S,
        )
        if done.returncode != expected:
            said = f"{done.stdout}{done.stderr}".strip()
            raise Failed(f"inbox {' '.join(arguments)}: ended with {done.returncode}: {said}")
        return done.stdout


def _statements(stack, title):
    """The rights of a paragraph of RUNBOOK.md, each on what it is for."""
    text = Path("RUNBOOK.md").read_text(encoding="utf-8")
    paragraph = re.search(rf"\*\*{title}\.\*\*(.*?)\n\n", text + "\n\n", re.DOTALL)
    if not paragraph:
        raise Failed(f"RUNBOOK.md has no paragraph '{title}': correct tool.py")
    inbox, queues = stack.outputs["InboxTableName"], ["events", "events.fifo"]
    tables, secrets = [inbox, f"{inbox}/index/due"], []
    if title not in OPERATOR:
        tables.append(stack.outputs["BusinessTableName"])
        queues += ["events-dlq", "events-dlq.fifo", "sweeper-dlq"]
        secrets = [f"arn:aws:secretsmanager:*:*:secret:{NAME}/*"]
    resources = {
        "dynamodb": [f"arn:aws:dynamodb:*:*:table/{table}" for table in tables],
        "sqs": [f"arn:aws:sqs:*:*:{NAME}-{queue}" for queue in queues],
        "secretsmanager": secrets,
        "cloudformation": [f"arn:aws:cloudformation:*:*:stack/{NAME}/*"],
        "cloudwatch": ["*"],
    }
    service = None
    for named, action in re.findall(r"`(?:(\w+):)?([A-Z]\w+)`", paragraph[1]):
        service = named or service
        if not resources.get(service):
            raise Failed(f"RUNBOOK.md lists a right of {service} for `inbox`: add it to tool.py")
        actions = [f"{service}:{action}"]
        # The emulator knows a right of its own for a batch; SQS has not (derive.py).
        if action == "SendMessage":
            actions.append("sqs:SendMessageBatch")
        yield {"Effect": "Allow", "Action": actions, "Resource": resources[service]}
