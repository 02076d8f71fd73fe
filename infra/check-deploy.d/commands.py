"""The documents' commands for an operator, run as they stand there, one after another in one shell."""

import re
import subprocess
from pathlib import Path

from report import Failed, say
from stack import NAME

ALL_S = 900
AWSCLI = Path("target/tools/awscli/bin").resolve()
# Each document, and the sections whose commands are run; all of them where none is named.
DOCUMENTS = {
    "RUNBOOK.md": [],
    "README.md": ["Failed events", "Secrets", "Pause a source"],
    "docs/deploy.md": ["Update", "Secrets"],
}
# A block with one of these is not run here.
LEFT_OUT = {
    r"\bstart-query\b": "the emulator knows no queries of logs",
    r"^\s*(cargo run .*)?\binbox\b": "the tool `inbox` has tests of its own",
}
# What a section's commands show, with the trial's events.
SHOWN = {
    "RUNBOOK.md, Before you look": "done\t1\tapplied",
    "RUNBOOK.md, refused-kudos": "AWSCURRENT",
    "RUNBOOK.md, no-sweep": "ENABLED\trate(1 minute)",
    "RUNBOOK.md, oldest-unfinished": "Enabled",
    "RUNBOOK.md, failed-rows": "permanent\tpayment.succeeded\tkudos#evt_bad",
    "RUNBOOK.md, silent-kudos": '{"error":"signature refused"}',
}
# What is typed where a block reads a new and an old secret.
TYPED = "kudos-third\nkudos-second\n"
# The command line's version 1 knows the variable AWS_ENDPOINT_URL, but not for SQS. `settle` waits
# until an event that is run again has ended: a block after it may count on that.
PRELUDE = """
aws() { command aws --endpoint-url "$AWS_ENDPOINT_URL" "$@"; }
settle() {
  for _ in $(seq 100); do
    status=$(aws dynamodb get-item --table-name "$INBOX_TABLE" --key '{"pk":{"S":"kudos#evt_bad"}}' \
      --consistent-read --query Item.status.S --output text)
    case $status in failed | dropped) return ;; esac
    sleep 1
  done
  echo "kudos#evt_bad is still $status" >&2
}
"""


def run(w):
    """Runs every block; each must end well, say nothing on stderr and show what SHOWN says."""
    first, chosen, left_out = _chosen()
    folder = w.stack.emulator.work / "commands"
    folder.mkdir()
    # Shows errors of curl, but not its progress.
    (w.stack.emulator.work / ".curlrc").write_text("silent\nshow-error\n", encoding="utf-8")
    script = PRELUDE + first
    for number, (_, lines) in enumerate(chosen):
        wait = "settle" if "update-item" in lines else ""
        script += f"(\n{lines}\n{wait}\n) >{number}.out 2>{number}.err <<<'{TYPED}'\n"
        script += f"echo $? >{number}.code\n"
    environment = w.stack.emulator.environment
    own = {
        "PATH": f"{AWSCLI}:{environment['PATH']}",
        "CURL_CA_BUNDLE": environment["AWS_CA_BUNDLE"],
    }
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=environment | own,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=ALL_S,
    )
    if done.returncode or done.stderr:
        raise Failed(f"RUNBOOK.md's first block: {done.stderr}")
    _look(folder, chosen)
    say(f"   {len(chosen)} blocks were run, {len(left_out)} not: {'; '.join(set(left_out))}")


def _chosen():
    """The block that sets what the others use, the (place, lines) to run, why others are not."""
    first, chosen, left_out = None, [], []
    for document, sections in DOCUMENTS.items():
        found = list(_blocks(Path(document).read_text(encoding="utf-8")))
        for section in sections:
            if section not in (name for name, _ in found):
                raise Failed(f"{document} has no commands in {section}: correct commands.py")
        for section, lines in found:
            reasons = [why for what, why in LEFT_OUT.items() if re.search(what, lines, re.M)]
            # As a reader would put his own in.
            lines = lines.replace("webhook-inbox-prod", NAME).replace("eu-central-1", "us-east-1")
            if first is None:
                first = lines
            elif sections and section not in sections:
                continue
            elif reasons:
                left_out += reasons
            else:
                chosen.append((f"{document}, {section}", lines))
    return first, chosen, left_out


def _blocks(text):
    """(section, lines) of every block for the shell."""
    section = ""
    pattern = r"^#+ ([^\n]*)$|^ *```sh\n(.*?)^ *```"
    for heading, lines in re.findall(pattern, text, re.MULTILINE | re.DOTALL):
        if heading:
            section = heading
        else:
            yield section, lines


def _look(folder, chosen):
    """Compares what came of the blocks."""
    shown = {}
    for number, (place, lines) in enumerate(chosen):
        out, err, code = (
            (folder / f"{number}.{kind}").read_text(encoding="utf-8")
            for kind in ("out", "err", "code")
        )
        if code != "0\n" or err:
            raise Failed(f"{place}: ended with {code.strip()}:\n{lines}{err}")
        shown[place] = shown.get(place, "") + out
    for place, text in SHOWN.items():
        if text not in shown.get(place, ""):
            raise Failed(f"{place}: must show {text!r}, shows {shown.get(place)!r}")
