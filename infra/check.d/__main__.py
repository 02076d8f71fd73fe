"""Runs the checks on the template, then on every mutant of it. Usage: python infra/check.d [ROOT]"""

import sys
from pathlib import Path

import agree
import mutants
import sources
from template import transformed


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    text = (root / "template.yaml").read_text(encoding="utf-8")
    runbook = (root / "RUNBOOK.md").read_text(encoding="utf-8")
    code = sources.read(root)

    found = agree.problems(transformed(text), code, runbook)
    for title, mistake in found:
        print(f"wrong: {title}\n       {mistake}")
    if found:
        return 1
    print(f"{len(agree.CHECKS)} checks hold:")
    for title, _ in agree.CHECKS:
        print(f"  {title}")

    unseen, idle = [], {title for title, _ in agree.CHECKS}
    every = list(mutants.all_of_them())
    print(f"{len(every)} mistakes, {len(mutants.SEEN_BY_NO_LINTER)} of which no linter sees:")
    for name, replacements in every:
        noticed = agree.problems(transformed(mutants.apply(text, replacements)), code, runbook)
        idle -= {title for title, _ in noticed}
        if noticed:
            print(f"  noticed: {name}: {noticed[0][1]}")
        else:
            print(f"  NOT NOTICED: {name}")
            unseen.append(name)
    for title in sorted(idle):
        print(f"  no mistake is ever noticed by: {title}")
    return 1 if unseen or idle else 0


if __name__ == "__main__":
    sys.exit(main())
