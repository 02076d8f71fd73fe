"""docs/deploy.md's table of settings: each value is the template's, each check that it names is there."""

import re
from pathlib import Path

import agree

ROW = re.compile(r"^\| `([\w.]+)` \| `([^`]+)` \| [^|]+ \|([^|]*)\|$", re.MULTILINE)
CHECK = re.compile(r"@(?:check|step)\([^\n]*\)\n(?:@each\n)?def (\w+)")
# Mistakes in the table, as those in mutants.py.
MUTANTS = [
    ("another value", "| `EventQueue.VisibilityTimeout` | `360` |", "| `EventQueue.VisibilityTimeout` | `300` |"),
    ("a setting that is not there", "| `NoSweepAlarm.TreatMissingData` |", "| `NoSweepAlarm.MissingData` |"),
    ("a check that is not there", "| check: ttl |", "| check: expiry |"),
]  # fmt: skip


def problems(template, text, root):
    """The mistakes in the table."""
    known = {"check": {function.__name__ for _, function in agree.CHECKS}}
    for name, file in (("check-package", "package.py"), ("check-deploy", "trial.py")):
        source = (root / f"infra/{name}.d/{file}").read_text(encoding="utf-8")
        known[name] = set(CHECK.findall(source))
    rows = ROW.findall(text)
    if len(rows) < 20:
        yield f"docs/deploy.md's table of settings has {len(rows)} rows that can be read"
    for path, value, checks in rows:
        is_ = shown(template, path)
        if is_ != value:
            yield f"docs/deploy.md: {path} is {is_}, and not {value}"
        for group in filter(None, map(str.strip, checks.split(";"))):
            script, _, names = group.partition(": ")
            for name in names.split(", "):
                if name not in known.get(script, ()):
                    yield f"docs/deploy.md: {path}: no check is called {group!r}"


def shown(template, path):
    """A setting as the table shows it: of a list its only entry, of what is not there nothing."""
    logical_id, *names = path.split(".")
    resource = template.plain(template.resources.get(logical_id, {}))
    value = {**resource.get("Properties", {}), **resource}
    for name in names:
        value = value.get(name, {}) if isinstance(value, dict) else {}
    if isinstance(value, list) and len(value) == 1:
        (value,) = value
    return str(value).lower() if isinstance(value, bool) else str(value)


def unnoticed(template, text, root):
    """The names of the mistakes that `problems` does not see."""
    for name, old, new in MUTANTS:
        if text.count(old) != 1:
            raise SystemExit(f"{old!r} is not once in docs/deploy.md: correct infra/check.d/guide.py")
        if not any(problems(template, text.replace(old, new), root)):
            yield name


def read(root):
    """The document."""
    return (Path(root) / "docs/deploy.md").read_text(encoding="utf-8")
