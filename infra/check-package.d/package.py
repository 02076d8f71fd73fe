"""What would be uploaded for each function, and what must hold for it."""

import hashlib
import io
import re
import zipfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection
from samcli.lib.package.utils import make_zip_with_lambda_permissions, zip_folder

FUNCTIONS = ("ingress", "processor", "sweeper")
# Where provided.al2023 has its loader, by what the template calls the architecture.
MACHINES = {
    "x86_64": ("EM_X86_64", "/lib64/ld-linux-x86-64.so.2"),
    "arm64": ("EM_AARCH64", "/lib/ld-linux-aarch64.so.1"),
}
# What provided.al2023 has: glibc 2.34 with its parts, and GCC's runtime. Nothing else is there.
GLIBC_MAX = (2, 34)
LIBRARIES = re.compile(
    r"(lib(c|dl|m)\.so\.6|lib(dl|util)\.so\.2|lib(pthread|util)\.so\.[01]|librt\.so\.1"
    r"|libgcc_s\.so\.1|ld-linux-(x86-64|aarch64)\.so\.[12])"
)
# OpenSSL and its forks name themselves in what is linked.
OPENSSL = re.compile(rb"(?:OpenSSL|LibreSSL|BoringSSL|AWS-LC) \d+\.\d+")
# Twice of what they weigh today: a cold start loads all of it.
ZIP_MB_MAX = 6

CHECKS = []


@dataclass
class Package:
    """One function's archive, as it is uploaded. `how` says what has built it."""

    function: str
    how: str
    architecture: str
    archive: bytes

    @property
    def name(self):
        """How a mistake names it."""
        return f"{self.function} ({self.how})"

    @property
    def entries(self):
        """The archive's entries."""
        return zipfile.ZipFile(io.BytesIO(self.archive)).infolist()

    @cached_property
    def program(self):
        """The program at the root; nothing if it is not there."""
        archive = zipfile.ZipFile(io.BytesIO(self.archive))
        return archive.read("bootstrap") if "bootstrap" in archive.namelist() else b""

    @property
    def elf(self):
        """The program as ELF; None if it is none."""
        try:
            return ELFFile(io.BytesIO(self.program))
        except ELFError:
            return None


def of_folder(function, how, architecture, folder):
    """The archive that SAM makes of a built function's folder."""
    with zip_folder(str(folder), zip_method=make_zip_with_lambda_permissions) as (path, _):
        return Package(function, how, architecture, Path(path).read_bytes())


def check(title):
    """Registers a check under the sentence that it makes sure of. It yields mistakes."""

    def register(function):
        CHECKS.append((title, function))
        return function

    return register


def problems(packages):
    """(check, title, mistake) of everything that does not hold."""
    return [(f, title, mistake) for title, f in CHECKS for mistake in f(packages)]


def each(function):
    """A check of one package, as a check of all."""

    def every(packages):
        for package in packages:
            for mistake in function(package):
                yield f"{package.name}: {mistake}"

    return every


@check("each function is packed once by each tool")
def complete(packages):
    for how in sorted({package.how for package in packages}):
        functions = sorted(package.function for package in packages if package.how == how)
        if functions != sorted(FUNCTIONS):
            yield f"{how} has packed {functions}"


@check("one file, `bootstrap`, at the root of the archive")
@each
def root(package):
    names = [entry.filename for entry in package.entries]
    if names != ["bootstrap"]:
        yield f"the archive holds {names}"


@check("everybody may execute it")
@each
def executable(package):
    for entry in package.entries:
        mode = entry.external_attr >> 16
        if mode & 0o555 != 0o555:
            yield f"{entry.filename} has mode {mode:o}"


@check("a 64-bit ELF program of the template's architecture, for glibc's loader")
@each
def architecture(package):
    elf = package.elf
    if elf is None:
        yield "it is no ELF program"
        return
    machine, loader = MACHINES[package.architecture]
    if (elf.elfclass, elf["e_machine"]) != (64, machine):
        yield f"{elf.elfclass} bits, {elf['e_machine']}, must be {machine}"
    loaders = [s.get_interp_name() for s in elf.iter_segments("PT_INTERP")]
    if loaders != [loader]:
        yield f"its loader: {loaders}, must be {loader}"


@check("glibc 2.34, which provided.al2023 has, is new enough for it")
@each
def glibc(package):
    newest = glibc_needed(package)
    if newest > GLIBC_MAX:
        yield f"it needs glibc {newest[0]}.{newest[1]}"


def glibc_needed(package):
    """The newest version of glibc that the program names."""
    newest = (0, 0)
    for section in package.elf.iter_sections() if package.elf else ():
        if isinstance(section, GNUVerNeedSection):
            for _, versions in section.iter_versions():
                for version in versions:
                    found = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(\.\d+)?", version.name)
                    if found:
                        newest = max(newest, (int(found[1]), int(found[2])))
    return newest


@check("it asks for no library that provided.al2023 has not")
@each
def libraries(package):
    for name in needed(package):
        if not LIBRARIES.fullmatch(name):
            yield f"it asks for {name}"


def needed(package):
    """The libraries that the loader has to find."""
    dynamic = package.elf.get_section_by_name(".dynamic") if package.elf else None
    return [tag.needed for tag in dynamic.iter_tags("DT_NEEDED")] if dynamic else []


@check("no OpenSSL and none of its forks is linked into it")
@each
def openssl(package):
    found = OPENSSL.search(package.program)
    if found:
        yield f"it holds {found.group().decode()}"


@check("each archive holds its own function's program")
@each
def own(package):
    for function in FUNCTIONS:
        # Log targets and panic places name the crate.
        if (f"{function}::".encode() in package.program) != (function == package.function):
            yield f"its program is not {package.function}'s: look for {function}::"


@check("both tools pack the same programs")
def same(packages):
    programs = {}
    for package in packages:
        digest = hashlib.sha256(package.program).hexdigest()
        programs.setdefault(package.function, {})[digest] = package.how
    for function, by_digest in programs.items():
        if len(by_digest) != 1:
            yield f"{function}: {' and '.join(by_digest.values())} differ"


@check(f"an archive has less than {ZIP_MB_MAX} MB")
@each
def size(package):
    megabytes = len(package.archive) / 1e6
    if megabytes >= ZIP_MB_MAX:
        yield f"{megabytes:.1f} MB"
