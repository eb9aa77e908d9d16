"""The public registry of ACP agents: a snapshot in the package, or a newer one that the person has fetched.

Entries are untrusted text. One is left out, with the reason, if it could start or overwrite anything but what it
installs: names that are paths, packages that are addresses, commands that climb, variables that change other programs.
"""

import platform
import re
import sys
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import msgspec

from portico.config.paths import state_folder
from portico.domain import codecs
from portico.domain.errors import InvalidInput, StoreFailed
from portico.files.private import make_private_folder, replace_private

ADDRESS = "https://cdn.agentclientprotocol.com/registry/v1/latest/registry.json"
MOST_BYTES = 4 * 1024 * 1024
_MOST_WORDS, _LONGEST_WORD = 20, 200

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_NPM = re.compile(r"(@[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]*@[0-9][A-Za-z0-9.+-]*")
_PYPI = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)(?:==|@)([0-9][A-Za-z0-9.+!-]*)")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{0,99}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
# Variables by which one program makes another do something else.
_FORBIDDEN = re.compile(
    r"(PATH|HOME|SHELL|IFS|ENV|BASH_ENV|TMPDIR)|(LD|DYLD|PYTHON|NODE|NPM|GIT|PORTICO|PERL|RUBY|JAVA)_.*|NODE_OPTIONS|PYTHON[A-Z]*"
)


class _Package(msgspec.Struct, frozen=True):
    package: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}


class BinaryRelease(msgspec.Struct, frozen=True):
    """An archive for one platform. Without a checksum it is not installed."""

    archive: str
    cmd: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    sha256: str | None = None


class _Distribution(msgspec.Struct, frozen=True):
    npx: _Package | None = None
    uvx: _Package | None = None
    binary: dict[str, BinaryRelease] = {}


class RegistryEntry(msgspec.Struct, frozen=True):
    """One agent of the registry."""

    id: str
    name: str
    version: str
    distribution: _Distribution
    description: str = ""
    license: str = ""
    repository: str = ""

    @property
    def origin(self) -> str:
        """Package or archive that would be fetched."""
        if self.distribution.npx is not None:
            return f"npm: {self.distribution.npx.package}"
        if self.distribution.uvx is not None:
            return f"PyPI: {self.distribution.uvx.package}"
        release = self.release()
        return f"archive: {release.archive}" if release else "no package for this machine"

    def release(self) -> BinaryRelease | None:
        """The archive for this machine, if there is one."""
        system = {"darwin": "darwin", "win32": "windows"}.get(sys.platform, "linux")
        machine = {"arm64": "aarch64", "AMD64": "x86_64"}.get(platform.machine(), platform.machine())
        return self.distribution.binary.get(f"{system}-{machine}")


class _Listed(msgspec.Struct, frozen=True):
    agents: tuple[msgspec.Raw, ...]
    source: str = ""


class PublicRegistry(msgspec.Struct, frozen=True):
    """Entries by name, where they are from, and the entries that were left out with the reason for each."""

    entries: dict[str, RegistryEntry]
    source: str
    left_out: tuple[str, ...] = ()


def load_registry(environ: Mapping[str, str]) -> PublicRegistry:
    """The registry that the person has fetched, else the one in the package."""
    fetched = _fetched_file(environ)
    if fetched.is_file():
        return parse_registry(fetched.read_bytes(), f"fetched: {fetched}")
    return parse_registry(Path(__file__).with_name("registry_snapshot.json").read_bytes(), "in the package")


def keep_registry(data: bytes, environ: Mapping[str, str]) -> PublicRegistry:
    """Keep a fetched registry, if it is one. StoreFailed if not; the one before stays."""
    found = parse_registry(data, ADDRESS)
    if not found.entries:
        raise StoreFailed("The registry has no entry that can be used.", suggestion="Try again later.")
    make_private_folder(_fetched_file(environ).parent)
    replace_private(_fetched_file(environ), data)
    return found


def parse_registry(data: bytes, source: str) -> PublicRegistry:
    try:
        listed = codecs.decode_json(data, _Listed)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise StoreFailed(f"The registry of agents cannot be read: {error}") from error
    entries: dict[str, RegistryEntry] = {}
    left_out = []
    for raw in listed.agents:
        try:
            entry = codecs.decode_json(raw, RegistryEntry)
            check_entry(entry)
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            left_out.append(f"an entry that is not valid: {error}")
        except InvalidInput as error:
            left_out.append(error.message)
        else:
            entries.setdefault(entry.id, entry)
    return PublicRegistry(entries, listed.source or source, tuple(left_out))


def check_entry(entry: RegistryEntry) -> None:
    """InvalidInput for an entry that could do more than install and start one program."""
    if _NAME.fullmatch(entry.id) is None:
        raise InvalidInput(f"{entry.id[:80]!r} is not a name of an agent.")
    ways = entry.distribution
    for package, pattern, kind in ((ways.npx, _NPM, "npm"), (ways.uvx, _PYPI, "PyPI")):
        if package is not None:
            if pattern.fullmatch(package.package) is None:
                raise InvalidInput(f"{entry.id}: {package.package[:80]!r} is not a pinned package of {kind}.")
            _check_words(entry.id, package.args, package.env)
    for release in ways.binary.values():
        command = PurePosixPath(release.cmd.replace("\\", "/"))
        if command.is_absolute() or ".." in command.parts or ":" in release.cmd or "\0" in release.cmd:
            raise InvalidInput(f"{entry.id}: the command {release.cmd[:80]!r} is not inside the archive.")
        if not release.archive.startswith("https://"):
            raise InvalidInput(f"{entry.id}: the archive {release.archive[:80]!r} does not come by https.")
        if release.sha256 is not None and _SHA256.fullmatch(release.sha256) is None:
            raise InvalidInput(f"{entry.id}: the checksum of the archive is not a SHA-256.")
        _check_words(entry.id, release.args, release.env)


def pypi_requirement(package: str) -> str:
    """A pinned package as pip reads it."""
    found = _PYPI.fullmatch(package)
    if found is None:
        raise InvalidInput(f"{package!r} is not a pinned package of PyPI.")
    return f"{found[1]}=={found[2]}"


def _check_words(name: str, args: tuple[str, ...], env: Mapping[str, str]) -> None:
    if len(args) > _MOST_WORDS or any(len(one) > _LONGEST_WORD or not one.isprintable() for one in args):
        raise InvalidInput(f"{name}: its arguments are too long, or not printable.")
    for variable, value in env.items():
        if _VARIABLE.fullmatch(variable) is None or _FORBIDDEN.fullmatch(variable) is not None:
            raise InvalidInput(f"{name}: it may not set the variable {variable[:80]}.")
        if len(value) > _LONGEST_WORD or not value.isprintable():
            raise InvalidInput(f"{name}: the value of {variable} is too long, or not printable.")


def _fetched_file(environ: Mapping[str, str]) -> Path:
    return state_folder(environ) / "agents" / "registry.json"
