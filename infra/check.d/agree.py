"""What template, code and runbook must agree on: the checks' register, and what they share.

A check is a generator: it yields one line for each mistake. `w` holds the transformed template
(`t`), what the sources say (`code`), the text of RUNBOOK.md and the contents of samconfig.toml.
"""

from types import SimpleNamespace

CHECKS = []

# The functions' logical ids, and those of their log groups.
FUNCTIONS = {
    "ingress": "IngressFunction",
    "processor": "ProcessorFunction",
    "sweeper": "SweeperFunction",
}
LOGS = {"ingress": "IngressLogs", "processor": "ProcessorLogs", "sweeper": "SweeperLogs"}
# Each queue that is read, and where its dead letters go.
QUEUES = {"EventQueue": "EventDlq", "EventFifoQueue": "EventFifoDlq"}


def check(title):
    """Registers a check under the sentence that it makes sure of."""

    def register(function):
        CHECKS.append((title, function))
        return function

    return register


def problems(template, code, runbook, samconfig):
    """(title, mistake) of everything that does not agree."""
    world = SimpleNamespace(t=template, code=code, runbook=runbook, samconfig=samconfig)
    return [(title, mistake) for title, function in CHECKS for mistake in function(world)]


def differs(what, is_, should):
    """One mistake, if there is one."""
    if is_ != should:
        yield f"{what}: {is_!r}, must be {should!r}"


def many(value):
    """CloudFormation lets a list of one be written without the list."""
    return value if isinstance(value, list) else [value]
