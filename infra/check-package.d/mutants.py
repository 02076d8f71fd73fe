"""Mistakes in a package. Each is made, and the check that it is for must notice."""

import io
import random
import zipfile
from dataclasses import replace

import package

# The machine's number in an ELF header, and its place.
E_MACHINE, NUMBERS = 18, {"x86_64": 62, "arm64": 183}

MUTANTS = []


def mutant(noticed_by):
    """Registers a mistake, which is made to the first package, under the check that is for it."""

    def register(function):
        MUTANTS.append((function.__doc__, noticed_by, function))
        return function

    return register


def all_of_them(packages):
    """(name, its check, packages with the mistake)."""
    for name, noticed_by, function in MUTANTS:
        yield name, noticed_by, function(packages)


def _packed(one, files, mode=0o755):
    """The package with these files, all of one mode."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (0o100000 | mode) << 16
            packed.writestr(entry, content, zipfile.ZIP_DEFLATED, compresslevel=1)
    return replace(one, archive=archive.getvalue())


def _program(packages, old, new):
    """All packages, the first with other bytes in its program."""
    first, *others = packages
    if old not in first.program:
        raise SystemExit(f"{old!r} is not in {first.name}: correct infra/check-package.d/mutants.py")
    if len(old) != len(new):
        raise SystemExit(f"{old!r} and {new!r} are not of one length")
    return [_packed(first, {"bootstrap": first.program.replace(old, new)}), *others]


@mutant(package.complete)
def missing(packages):
    """a function is not built"""
    return packages[1:]


@mutant(package.root)
def in_a_folder(packages):
    """the program is in a folder"""
    first, *others = packages
    return [_packed(first, {f"{first.function}/bootstrap": first.program}), *others]


@mutant(package.root)
def another_name(packages):
    """the program has its own name"""
    first, *others = packages
    return [_packed(first, {first.function: first.program}), *others]


@mutant(package.root)
def another_file(packages):
    """the sources are packed as well"""
    first, *others = packages
    files = {"bootstrap": first.program, "template.yaml": b"Resources: {}"}
    return [_packed(first, files), *others]


@mutant(package.executable)
def not_executable(packages):
    """the program may not be executed"""
    first, *others = packages
    return [_packed(first, {"bootstrap": first.program}, mode=0o644), *others]


@mutant(package.executable)
def owner_only(packages):
    """only its owner may execute it"""
    first, *others = packages
    return [_packed(first, {"bootstrap": first.program}, mode=0o700), *others]


@mutant(package.architecture)
def script(packages):
    """a shell script"""
    first, *others = packages
    return [_packed(first, {"bootstrap": b"#!/bin/sh\nexec ./run\n"}), *others]


@mutant(package.architecture)
def other_machine(packages):
    """built for the other architecture"""
    first, *others = packages
    (other,) = set(NUMBERS) - {first.architecture}
    program = bytearray(first.program)
    program[E_MACHINE : E_MACHINE + 2] = NUMBERS[other].to_bytes(2, "little")
    return [_packed(first, {"bootstrap": bytes(program)}), *others]


@mutant(package.architecture)
def musl(packages):
    """built for musl, whose loader is not there"""
    loader = package.MACHINES[packages[0].architecture][1].encode()
    return _program(packages, loader, b"/lib/ld-musl.so.1".ljust(len(loader), b"\0"))


@mutant(package.glibc)
def newer_glibc(packages):
    """linked against the build machine's newer glibc"""
    newest = "GLIBC_{}.{}".format(*package.glibc_needed(packages[0])).encode()
    return _program(packages, b"\0%s\0" % newest, b"\0GLIBC_2.39\0")


@mutant(package.libraries)
def shared_openssl(packages):
    """OpenSSL as a shared library"""
    return _program(packages, b"\0libc.so.6\0", b"\0libssl.so\0")


@mutant(package.openssl)
def static_openssl(packages):
    """OpenSSL linked into the program"""
    first, *others = packages
    program = first.program + b"\0OpenSSL 3.0.15 3 Sep 2024\0"
    return [_packed(first, {"bootstrap": program}), *others]


@mutant(package.own)
def exchanged(packages):
    """two functions' programs are exchanged"""
    first, other, *_ = {one.function: one for one in packages}.values()
    archives = {first.function: other.archive, other.function: first.archive}
    return [replace(one, archive=archives.get(one.function, one.archive)) for one in packages]


@mutant(package.same)
def outdated(packages):
    """one tool has packed an older build"""
    first, *others = packages
    return [_packed(first, {"bootstrap": first.program + b"\0"}), *others]


@mutant(package.size)
def heavy(packages):
    """a program with debug information"""
    first, *others = packages
    # What does not compress.
    rest = random.Random(1).randbytes(package.ZIP_MB_MAX * 1_000_000)
    return [_packed(first, {"bootstrap": first.program + rest}), *others]
