"""Runs the checks on the template, then on every mutant of it. Usage: python infra/check.d [ROOT]"""

import sys
import tomllib
from pathlib import Path

import agree
import data  # noqa: F401 - each of these registers its checks
import guide
import mutants
import rights  # noqa: F401
import running  # noqa: F401
import sources
import told  # noqa: F401
import watching  # noqa: F401
from template import transformed


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    text = (root / "template.yaml").read_text(encoding="utf-8")
    runbook = (root / "RUNBOOK.md").read_text(encoding="utf-8")
    samconfig = tomllib.loads((root / "samconfig.toml").read_text(encoding="utf-8"))
    code = sources.read(root)

    template = transformed(text)
    found = agree.problems(template, code, runbook, samconfig)
    settings = guide.read(root)
    found += [("docs/deploy.md", mistake) for mistake in guide.problems(template, settings, root)]
    for title, mistake in found:
        print(f"wrong: {title}\n       {mistake}")
    if found:
        return 1
    print(f"{len(agree.CHECKS)} checks hold:")
    for title, _ in agree.CHECKS:
        print(f"  {title}")

    unseen, idle = list(guide.unnoticed(template, settings, root)), {title for title, _ in agree.CHECKS}
    every = list(mutants.all_of_them())
    known = len(mutants.PASSED_BY_LINTERS)
    print(f"{len(guide.MUTANTS)} mistakes in docs/deploy.md's table, {len(unseen)} not noticed {unseen}")
    print(f"{len(every)} mistakes, the first {known} of a kind that linters let pass:")
    for name, replacements in every:
        noticed = agree.problems(
            transformed(mutants.apply(text, replacements)), code, runbook, samconfig
        )
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
