"""Installs agents of the public registry: from npm, from PyPI, or from an archive whose checksum fits.

Each has a folder of its own in the state folder, with a record of what was installed and how it is started. Nothing
is written outside it, and the version stays until the person installs another.
"""

import asyncio
import hashlib
import io
import secrets
import shutil
import sys
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import msgspec

from portico.agents.installation import NpmPackage, agent_folder, fetch_npm_package, run_to_end
from portico.agents.public_registry import BinaryRelease, RegistryEntry, pypi_requirement
from portico.domain import codecs
from portico.domain.errors import InvalidInput, StoreFailed
from portico.files.private import make_private_folder, write_private

MOST_ARCHIVE_BYTES = 400 * 1024 * 1024
_MOST_UNPACKED_BYTES = 2 * 1024 * 1024 * 1024
_MOST_FILES = 50_000
_INSTALL_SECONDS = 900
_RECORD = "portico-agent.json"


class InstalledAgent(msgspec.Struct, frozen=True):
    """Record of an installation: origin, and how it is started. The program is given from the folder on."""

    name: str
    version: str
    origin: str
    program: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}

    def command(self, environ: Mapping[str, str]) -> tuple[str, ...]:
        return (str(agent_folder(self.name, environ) / self.program), *self.args)


def installed_agents(environ: Mapping[str, str]) -> dict[str, InstalledAgent]:
    """The agents of the registry that are installed here, by name."""
    found = {}
    for record in sorted(agent_folder("x", environ).parent.glob(f"*/{_RECORD}")):
        try:
            one = codecs.decode_json(record.read_bytes(), InstalledAgent)
        except (OSError, msgspec.DecodeError, msgspec.ValidationError):
            continue  # Installing the agent again writes a new one.
        if one.name == record.parent.name:
            found[one.name] = one
    return found


async def install_entry(entry: RegistryEntry, environ: Mapping[str, str]) -> InstalledAgent:
    """Install an agent, replacing an earlier version. StoreFailed or InvalidInput leave the earlier one."""
    folder = agent_folder(entry.id, environ)
    fresh = folder.with_name(f".{entry.id}.{secrets.token_hex(4)}")
    make_private_folder(fresh)
    try:
        record = await _install_into(fresh, entry, environ)
        write_private(fresh / _RECORD, msgspec.json.encode(record))
        remove_agent(entry.id, environ)
        fresh.rename(folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return record


def remove_agent(name: str, environ: Mapping[str, str]) -> bool:
    """Remove an installed agent; whether there was one."""
    folder = agent_folder(name, environ)
    if not folder.is_dir():
        return False
    shutil.rmtree(folder)
    return True


async def _install_into(folder: Path, entry: RegistryEntry, environ: Mapping[str, str]) -> InstalledAgent:
    ways = entry.distribution
    if ways.npx is not None:
        name, _, version = ways.npx.package.rpartition("@")
        await fetch_npm_package(NpmPackage(name, version), folder, environ)
        program, args, env = _npm_program(folder, name), ways.npx.args, ways.npx.env
    elif ways.uvx is not None:
        requirement = pypi_requirement(ways.uvx.package)
        await _install_python(folder, requirement, environ)
        program, args, env = (
            _python_program(folder, requirement.partition("==")[0]),
            ways.uvx.args,
            ways.uvx.env,
        )
    else:
        release = entry.release()
        if release is None:
            raise InvalidInput(f"The registry has no package of {entry.id} for this machine.")
        require_checksum(entry.id, release)
        data = await asyncio.to_thread(download, release.archive, MOST_ARCHIVE_BYTES)
        program = await asyncio.to_thread(unpack_release, data, release, folder)
        args, env = release.args, release.env
    return InstalledAgent(entry.id, entry.version, entry.origin, program, args, env)


def require_checksum(name: str, release: BinaryRelease) -> None:
    if release.sha256 is None:
        raise InvalidInput(
            f"The registry gives no checksum for the archive of {name}, so it is not installed.",
            suggestion=f"Install it by hand from {release.archive} and name its command in the settings.",
        )


def download(address: str, limit: int) -> bytes:
    """The bytes at an address. StoreFailed when it cannot be reached, or has more than the limit."""
    # Only those who install something pay for the library.
    import urllib.request

    try:
        with urllib.request.urlopen(address, timeout=60) as answer:
            data: bytes = answer.read(limit + 1)
    except OSError as error:
        raise StoreFailed(
            f"{address} cannot be fetched: {error}.", suggestion="See whether it can be reached from here."
        ) from error
    if len(data) > limit:
        raise StoreFailed(f"{address} has more than {limit // (1 << 20)} MB.")
    return data


def unpack_release(data: bytes, release: BinaryRelease, folder: Path) -> str:
    """Unpack an archive whose checksum fits; returns the program in it. StoreFailed for any other."""
    found = hashlib.sha256(data).hexdigest()
    if found != release.sha256:
        raise StoreFailed(
            f"The archive {release.archive} is not the one in the registry: its SHA-256 is {found}.",
            suggestion="Nothing was installed. Update the registry: portico agents update",
        )
    try:
        if zipfile.is_zipfile(io.BytesIO(data)):
            _unzip(data, folder)
        else:
            _untar(data, folder)
    except (tarfile.TarError, zipfile.BadZipFile, OSError, EOFError) as error:
        raise StoreFailed(f"The archive {release.archive} cannot be unpacked: {error}") from error
    program = PurePosixPath(release.cmd.replace("\\", "/"))
    path = folder / program
    if not path.is_file() or not path.resolve().is_relative_to(folder.resolve()):
        raise StoreFailed(f"The archive {release.archive} does not contain {release.cmd}.")
    path.chmod(0o700)
    return str(program)


def _untar(data: bytes, folder: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        total = 0
        for place, member in enumerate(archive):
            total += member.size
            if total > _MOST_UNPACKED_BYTES or place >= _MOST_FILES:
                raise tarfile.TarError("it is too large")
            # The filter refuses absolute names, names and links that climb, and devices.
            archive.extract(member, folder, filter="data")


def _unzip(data: bytes, folder: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        if sum(one.file_size for one in members) > _MOST_UNPACKED_BYTES or len(members) > _MOST_FILES:
            raise zipfile.BadZipFile("it is too large")
        for one in members:
            name = PurePosixPath(one.filename.replace("\\", "/"))
            if name.is_absolute() or ".." in name.parts or ":" in one.filename:
                raise zipfile.BadZipFile(f"{one.filename!r} is outside of the folder")
        archive.extractall(folder)


def _npm_program(folder: Path, package: str) -> str:
    """The program of an npm package, from its own description."""
    described = folder / "node_modules" / package / "package.json"
    try:
        commands = codecs.decode_json(described.read_bytes()).get("bin") or {}
    except (OSError, msgspec.DecodeError) as error:
        raise StoreFailed(f"{package} was not installed as npm packages are: {error}") from error
    short = package.rpartition("/")[2]
    names = [short] if isinstance(commands, str) else sorted(commands, key=lambda name: name != short)
    programs = folder / "node_modules" / ".bin"
    for name in names:
        file = programs / (f"{name}.cmd" if sys.platform == "win32" else name)
        if PurePosixPath(name).name == name and file.exists():
            return file.relative_to(folder).as_posix()
    raise StoreFailed(f"{package} has no program.")


async def _install_python(folder: Path, requirement: str, environ: Mapping[str, str]) -> None:
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input")
    words = (*pip, "--target", str(folder / "python"), requirement)
    await run_to_end(words, folder, environ, _INSTALL_SECONDS)


def _python_program(folder: Path, package: str) -> str:
    """A start of a package's own command, with the packages that were installed beside it."""
    command = folder / "python" / "bin" / package
    if not command.is_file():
        raise StoreFailed(f"{package} has no command of its own name.")
    starter = folder / package
    starter.write_text(
        f'#!/bin/sh\nhere=$(dirname "$0")\nPYTHONPATH="$here/python" exec "{sys.executable}" "$here/python/bin/{package}" "$@"\n'
    )
    starter.chmod(0o700)
    return package
