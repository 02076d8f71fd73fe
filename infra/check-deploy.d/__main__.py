"""Deploys the template to an emulator and tries it.

Usage: check-deploy.d ARCHITECTURE WORK [--breakages | --stay]. WORK is an empty folder for logs; it
stays when something fails.
"""

import shutil
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

from botocore.exceptions import BotoCoreError, ClientError

import breakages
import trial
from apiera import CREDENTIALS, Apiera
from emulator import Emulator
from report import Failed, say
from stack import FUNCTIONS, Stack

FIRST = {"kudos": "kudos-first", "kallglot": "kallglot-first", "apiera": "whsec_YXBpZXJhLWZpcnN0"}
LOG_LINES = 25
# With a mistake in the template, nothing is worth a long wait.
BROKEN_FINISH_S, BROKEN_SWEEP_S = 15, 75


USE = """
for AWS's own tools, in another terminal:

  export AWS_ENDPOINT_URL={AWS_ENDPOINT_URL} AWS_CA_BUNDLE={AWS_CA_BUNDLE}
  export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_DEFAULT_REGION={AWS_DEFAULT_REGION}
  export INBOX_TABLE={InboxTableName} SECRETS_PREFIX={SecretsPrefix}

a delivery:

  t=$(date +%s); body='{{"event_id":"evt_1","event_type":"payment.succeeded","data":{{"tenant":"acme","amount_cents":1250,"currency":"EUR"}}}}'
  sig=$(printf '%s' "$t.$body" | openssl dgst -sha256 -hmac kudos-first | sed 's/^.* //')
  curl -i -w '\\n' --cacert "$AWS_CA_BUNDLE" -H 'content-type: application/json' -H "x-kudos-signature: t=$t,v1=$sig" --data-binary "$body" {KudosWebhookUrl}

logs are in {folder}; Ctrl-C ends everything
"""


class StepFailed(Failed):
    """One step of the trial does not hold."""

    def __init__(self, title, step, failure):
        super().__init__(f"not so: {title}\n{failure}")
        self.step = step


def main():
    architecture, work, *option = sys.argv[1:]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    signal.signal(signal.SIGINT, lambda *_: sys.exit(128 + signal.SIGINT))
    if option == ["--breakages"]:
        return all_are_noticed(architecture, Path(work))
    if option == ["--stay"]:
        return stay(architecture, work)
    emulator = Emulator(work)
    try:
        trial_on(emulator, Stack(emulator, architecture))
        say("no process is left")
        shutil.rmtree(work)
    except Failed as failure:
        print(f"check-deploy: {failure}", file=sys.stderr)
        tell_logs(emulator)
        return 1
    return 0


def trial_on(emulator, stack):
    """Starts the emulator, deploys, goes through the steps, and ends the emulator in any case."""
    with emulator, Apiera() as apiera:
        say(f"ministack listens on 127.0.0.1:{emulator.port}, with TLS and IAM")
        try:
            go_through(SimpleNamespace(stack=stack, apiera=apiera, secrets=dict(FIRST)))
        except Failed:
            keep_lines(stack)
            raise


def deploy_first(stack):
    """The first deployment, with the first secrets."""
    first = {f"{source.capitalize()}SigningSecret": secret for source, secret in FIRST.items()}
    for name, value in CREDENTIALS.items():
        first["Apiera" + "".join(word.capitalize() for word in name.split("_"))] = value
    for line in stack.deploy({"Architecture": stack.architecture, **first}):
        say(f"   changed for the emulator: {line}")


def go_through(w):
    """Deploys, then takes the steps."""
    deploy_first(w.stack)
    for title, step in trial.STEPS:
        try:
            step(w)
        except (Failed, ClientError, BotoCoreError, OSError) as failure:
            raise StepFailed(title, step, failure) from None
        say(f"ok {title}")


def stay(architecture, work):
    """Deploys, says how to use it, and waits to be interrupted."""
    emulator = Emulator(work)
    try:
        with emulator, Apiera() as apiera:
            stack = Stack(emulator, architecture)
            deploy_first(stack)
            trial.replace_credentials(stack, apiera)
            print(USE.format(**emulator.environment, **stack.outputs, folder=emulator.work))
            signal.pause()
    finally:
        shutil.rmtree(work)


def keep_lines(stack):
    """Keeps what the functions have logged, without metrics; the emulator will be gone."""
    for function in FUNCTIONS if stack.outputs else ():
        try:
            lines = [line.strip() for line in stack.lines(function) if '"_aws"' not in line]
        except ClientError:
            # The group is gone, or was never made.
            continue
        path = stack.emulator.work / f"{function}.log"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def tell_logs(emulator):
    """The end of all logs."""
    for name in (*FUNCTIONS, "ministack"):
        path = emulator.work / f"{name}.log"
        if path.exists():
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            lines = [line for line in lines if '"_aws"' not in line]
            print(f"--- the last lines of {path}", *lines[-LOG_LINES:], sep="\n", file=sys.stderr)


def all_are_noticed(architecture, work):
    """Deploys each mistake; 1 if one is not noticed by the step that has to."""
    trial.FINISH_S, trial.SWEEP_S = BROKEN_FINISH_S, BROKEN_SWEEP_S
    # It takes minutes, and no mistake in the template is for it.
    trial.STEPS[:] = [entry for entry in trial.STEPS if entry[1] != trial.documented]
    unseen = []
    for number, (name, step, function) in enumerate(breakages.BREAKAGES):
        folder = work / str(number)
        folder.mkdir()
        emulator = Emulator(folder)
        try:
            trial_on(emulator, Stack(emulator, architecture, function))
            noticed = "nowhere"
        except StepFailed as failure:
            noticed = str(failure) if failure.step == step else f"elsewhere: {failure}"
        except Failed as failure:
            noticed = f"before the trial: {failure}"
        if noticed.startswith("not so:"):
            say(f"noticed: {name}: {noticed}")
            shutil.rmtree(folder)
        else:
            say(f"NOT NOTICED: {name}: {noticed}")
            unseen.append(name)
    if not unseen:
        work.rmdir()
    return 1 if unseen else 0


if __name__ == "__main__":
    sys.exit(main())
