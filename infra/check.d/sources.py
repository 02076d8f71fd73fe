"""What the Rust sources say: limits, metrics, environment, and the AWS calls of each function.

No compiler: regular expressions over sources that rustfmt has laid out. Calls are followed by name
from a function's own crate into `shared`; a method counts for every type of that crate which the
code on the way mentions. Where that is too coarse it says too much, never too little.
"""

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

FUNCTIONS = ("ingress", "processor", "sweeper")

# The SDK's calls, and the service each is for.
SDK = {
    "dynamodb": (
        "batch_get_item batch_write_item delete_item describe_table get_item put_item query scan "
        "transact_get_items transact_write_items update_item"
    ).split(),
    "sqs": (
        "change_message_visibility change_message_visibility_batch delete_message "
        "delete_message_batch get_queue_attributes receive_message send_message send_message_batch"
    ).split(),
    "secretsmanager": "get_secret_value put_secret_value".split(),
}
SERVICE = {call: service for service, calls in SDK.items() for call in calls}


@dataclass(frozen=True)
class Fn:
    """One function of the sources."""

    owner: str | None
    name: str
    arguments: bool
    raw: str
    bare: str


@dataclass
class Code:
    """Everything the template has to agree with."""

    limits: dict
    namespace: str
    metrics: dict
    sources: dict
    route_prefix: str
    row_key: set
    index: tuple
    index_reads: set
    ttl: str
    business_key: set
    credentials: dict
    environment: dict = field(default_factory=dict)
    calls: dict = field(default_factory=dict)
    binaries: dict = field(default_factory=dict)


def read(root):
    """Reads the workspace at `root`."""
    root = Path(root)
    text = lambda path: (root / path).read_text(encoding="utf-8")  # noqa: E731
    shared = _functions(root / "shared/src")
    due = text("shared/src/inbox/due.rs")
    by_name = {(fn.owner, fn.name): fn for fn in shared}
    context = text("functions/processor/src/handler/context.rs")
    code = Code(
        limits=_limits(text("shared/src/limits.rs")),
        namespace=_one(r'NAMESPACE: &str = "(\w+)"', text("shared/src/metrics.rs")),
        metrics=_metrics(text("shared/src/metrics.rs")),
        sources=_sources(tomllib.loads(text("infra/sources.toml"))),
        route_prefix=_one(
            r'const PREFIX: &str = "([^"]+)"', text("functions/ingress/src/route.rs")
        ),
        row_key=set(re.findall(r'\.key\("(\w+)"', text("shared/src/inbox.rs"))),
        index=(_one(r'\.index_name\("(\w+)"\)', due), _one(r'"(\w+) = :shard"', due), "due_at"),
        index_reads=set(re.findall(r'"(\w+)"', by_name["DueRow", "read"].raw)),
        ttl=_one(
            r'insert\("(\w+)"\.into\(\), n\(expires|\("(expires_at)"\.into\(\)',
            text("shared/src/inbox/body.rs"),
        ),
        business_key=set(re.findall(r'\.key\("(\w+)"', context)),
        credentials=_credentials(root / "functions/processor/src/handlers"),
    )
    for function in FUNCTIONS:
        own = _functions(root / "functions" / function / "src")
        reached = _reached(own, shared)
        code.environment[function] = _environment(reached)
        code.calls[function] = _calls(reached)
        code.binaries[function] = _one(r'name = "(\w+)"', text(f"functions/{function}/Cargo.toml"))
    return code


def _one(pattern, text):
    found = re.search(pattern, text, re.DOTALL)
    if not found:
        raise SystemExit(
            f"the sources no longer show {pattern!r}: correct infra/check.d/sources.py"
        )
    return next(group for group in found.groups() if group)


def _sources(tables):
    """The producers; what a preset says counts where the producer's own table does not."""
    presets = tables.pop("presets", {})
    for table in tables.values():
        for section, values in presets.get(table.get("preset"), {}).items():
            if isinstance(values, dict):
                table[section] = values | table.get(section, {})
    return tables


def _credentials(folder):
    """The fields of `<prefix>/<source>/api` that each source's handlers cannot do without."""
    found = {}
    for path in sorted(folder.glob("*.rs")):
        raw = path.read_text(encoding="utf-8")
        if ".credentials()" in raw:
            fields = _one(r"struct Credentials \{\n(.*?)\n\}", raw)
            found[path.stem] = re.findall(r"^    (\w+): \w+,$", _without_defaults(fields), re.M)
    return found


def _without_defaults(fields):
    return re.sub(r"    #\[serde\(default[^\]]*\)\]\n.*\n?", "", fields)


def _limits(text):
    """Constants as numbers; times in seconds."""
    values = {}
    for name, expression in re.findall(r"const (\w+): \w+ = ([^;]+);", text):
        expression = re.sub(r"Duration::from_secs\((.+)\)$", r"(\1)", expression)
        expression = re.sub(r"Duration::from_millis\((.+)\)$", r"(\1) / 1000", expression)
        values[name] = expression
    values.pop("_", None)
    for _ in values:  # constants may stand before those that they name
        for name, expression in values.items():
            if isinstance(expression, str):
                try:
                    values[name] = eval(
                        expression,
                        {"__builtins__": {}},
                        {
                            known: value
                            for known, value in values.items()
                            if not isinstance(value, str)
                        },
                    )
                except NameError:
                    pass
    return values


def _metrics(text):
    """Each metric with the dimensions that it is emitted under, as its doc comment says."""
    block = text[text.index("\nmetrics! {") :]
    block = block[: block.index("\n}\n")]
    dimensions = {}
    for doc, name in re.findall(r'((?:    ///.*\n)+)    (\w+): "\w+",', block):
        doc = " ".join(doc.replace("///", "").split())
        sets = [("inbox",)]
        if "by source" in doc:
            sets = [("inbox", "source")]
        if "by source and type" in doc:
            sets.append(("inbox", "source", "event_type"))
        dimensions[name] = sets
    return dimensions


def _blank(text):
    """The same text with comments and literals made blank, so that braces can be counted."""
    pattern = r'//[^\n]*|/\*.*?\*/|r#"(?:.|\n)*?"#|b?"(?:\\.|[^"\\])*"|b?\'(?:\\.[^\']*|[^\'\\])\''
    keep = lambda found: "".join(c if c == "\n" else " " for c in found.group())  # noqa: E731
    return re.sub(pattern, keep, text, flags=re.DOTALL)


def _block(bare, start):
    """The end of the block whose brace opens at or after `start`."""
    depth = 0
    for at in range(bare.index("{", start), len(bare)):
        depth += {"{": 1, "}": -1}.get(bare[at], 0)
        if depth == 0:
            return at + 1
    raise SystemExit("unbalanced braces: correct infra/check.d/sources.py")


def _functions(folder):
    found = []
    for path in sorted(folder.rglob("*.rs")):
        if path.stem.endswith("tests"):
            continue
        raw = path.read_text(encoding="utf-8")
        bare = _blank(raw)
        for test in re.finditer(r"#\[cfg\(test\)\]\s*mod \w+ \{", bare):
            end = _block(bare, test.start())
            bare = bare[: test.start()] + re.sub(r"\S", " ", bare[test.start() : end]) + bare[end:]
        owners = []
        for impl in re.finditer(r"^impl\b[^{;]*\{", bare, re.MULTILINE):
            head = re.sub(r"<[^<>]*>", "", re.sub(r"<[^<>]*>", "", impl.group()))
            owner = re.search(r"(\w+)\s*(?:where[^{]*)?\{$", head.split(" for ")[-1])
            owners.append((impl.start(), _block(bare, impl.start()), owner.group(1)))
        for fn in re.finditer(r"\bfn (\w+)", bare):
            open_brace, end_of_item = bare.find("{", fn.end()), bare.find(";", fn.end())
            if open_brace < 0 or (0 <= end_of_item < open_brace):
                continue
            end = _block(bare, fn.end())
            owner = next((o for a, b, o in owners if a < fn.start() < b), None)
            head = bare[fn.start() : open_brace]
            inside = head[head.index("(") + 1 :].split(") ->")[0]
            arguments = bool(
                re.sub(r"^\s*(&\s*('\w+\s*)?)?(mut\s+)?self\s*,?", "", inside).strip(" \n,)")
            )
            found.append(
                Fn(owner, fn.group(1), arguments, raw[fn.start() : end], bare[fn.start() : end])
            )
    return found


def _reached(own, shared):
    """The functions of the crate, and those of `shared` that they may come to."""
    reached, rest, mentioned, calls = [], list(shared), set(), set()
    new = list(own)
    while new:
        for fn in new:
            calls |= _names_called(fn)
            mentioned |= {fn.owner} | set(re.findall(r"\b[A-Z]\w+", fn.bare))
        reached += new
        new = [fn for fn in rest if _is_called(fn, calls, mentioned)]
        rest = [fn for fn in rest if fn not in new]
    return reached


def _names_called(fn):
    """What a body calls: (type or None, name) for paths, (has arguments, name) for methods."""
    paths = re.findall(r"(?:\b(\w+)::)?(?<!\.)\b([a-z]\w*)\s*[(,)]", fn.bare)
    methods = re.findall(r"\.(\w+)\((\s*\))?", fn.bare)
    return {(fn.owner if owner == "Self" else owner or None, name) for owner, name in paths} | {
        (not empty, name) for name, empty in methods
    }


def _is_called(fn, calls, mentioned):
    if (fn.owner, fn.name) in calls:
        return True
    # A free function may be called by its module's name.
    if fn.owner is None:
        return any(
            name == fn.name and isinstance(owner, str) and owner.islower() for owner, name in calls
        )
    # A call without arguments is not of a method that takes some: `.send()` is the SDK's.
    return fn.owner in mentioned and (fn.arguments, fn.name) in calls


def _environment(reached):
    """Variables read: required ones through `Env::text`, optional ones by looking them up."""
    required, optional = set(), set()
    for fn in reached:
        required |= set(re.findall(r'\.text\(\s*"([A-Z_]+)"', fn.raw))
        optional |= set(re.findall(r'(?:lookup\)|env::var)\("([A-Z_]+)"', fn.raw))
    return required, optional - required


def _calls(reached):
    """(service, call, table) of every SDK call."""
    calls = set()
    for fn in reached:
        for call in re.findall(r"\.\s*(\w+)\(", fn.bare):
            service = SERVICE.get(call)
            # `.query(x)` of another type takes arguments; the SDK's calls take none.
            if not service or not re.search(rf"\.\s*{call}\(\)", fn.bare):
                continue
            table = None
            if service == "dynamodb":
                table = "business" if "business_table" in fn.bare else "inbox"
                if re.search(r"\.index_name\(", fn.bare):
                    table = "index"
            calls.add((service, call, table))
    return calls
