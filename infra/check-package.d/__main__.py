"""Checks what was built, then every mistake in it. Usage: check-package.d ARCHITECTURE CARGO SAM

CARGO is cargo-lambda's folder of built functions, SAM is SAM's.
"""

import sys
from pathlib import Path

import mutants
import package
from package import FUNCTIONS


def main():
    architecture, cargo, sam = sys.argv[1:]
    packages = []
    for function in FUNCTIONS:
        built = {
            "cargo lambda build": Path(cargo) / function,
            "sam build": Path(sam) / f"{function.capitalize()}Function",
        }
        for how, folder in built.items():
            packages.append(package.of_folder(function, how, architecture, folder))

    found = package.problems(packages)
    for _, title, mistake in found:
        print(f"wrong: {title}\n       {mistake}")
    for one in packages:
        needed = "{}.{}".format(*package.glibc_needed(one))
        print(
            f"{one.name}: zip {len(one.archive) / 1e6:.1f} MB, program "
            f"{len(one.program) / 1e6:.1f} MB, {architecture}, needs glibc {needed}, "
            f"{' '.join(package.needed(one))}"
        )
    if found:
        return 1
    print(f"{len(package.CHECKS)} checks hold:")
    for title, _ in package.CHECKS:
        print(f"  {title}")
    return mistakes_are_noticed(packages)


def mistakes_are_noticed(packages):
    """1 if a mistake is not noticed by the check that it is for, or a check notices none."""
    unseen, idle = 0, {check: title for title, check in package.CHECKS}
    print(f"{len(mutants.MUTANTS)} mistakes:")
    for name, meant_for, mutated in mutants.all_of_them(packages):
        noticed = {check: mistake for check, _, mistake in reversed(package.problems(mutated))}
        if meant_for in noticed:
            idle.pop(meant_for, None)
            print(f"  noticed: {name}: {noticed[meant_for]}")
        else:
            print(f"  NOT NOTICED: {name}")
            unseen += 1
    for title in idle.values():
        print(f"  no mistake is ever noticed by: {title}")
    return 1 if unseen or idle else 0


if __name__ == "__main__":
    sys.exit(main())
