"""Installation of known agents from npm, after the person has confirmed package and version.

`portico agents install` does it as its only task; `chat` and `exec` offer it where the agent is missing.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

from portico.agents.installation import NpmPackage, install, newest_version
from portico.agents.public_registry import RegistryEntry, load_registry
from portico.agents.registry import AgentRegistry
from portico.agents.registry_installation import install_entry, require_checksum
from portico.domain.errors import AgentNotFound, ErrorDetails, ExitCode, InvalidInput, PorticoError
from portico.doors.terminal.input.confirmation import confirm
from portico.doors.terminal.output import is_plain_output
from portico.doors.terminal.sanitizer import clean_line
from portico.processes.tasks import cancel_and_wait
from portico.sessions.ports import AgentSpec


def install_agent(
    registry: AgentRegistry, name: str, environ: Mapping[str, str], flags: argparse.Namespace
) -> int:
    """Install an agent; returns the exit code."""
    known = registry.known(name)
    if known is None:
        spec = registry.resolve(name)  # raises AgentNotFound for an unknown name
        entry = load_registry(environ).entries.get(name)
        if entry is None or spec.install_hint is None:
            raise InvalidInput(f"{name} does not need to be installed.")
        return asyncio.run(_install_entry(entry, environ, flags))
    if known.package is None:
        raise AgentNotFound(
            f"Portico cannot install {name}.",
            suggestion=known.install_hint,
            details=ErrorDetails(agent=name),
        )
    return asyncio.run(_install_package(name, known.package, environ, flags))


async def _install_package(
    name: str, package_name: str, environ: Mapping[str, str], flags: argparse.Namespace
) -> int:
    package = await newest_version(package_name, environ)
    if not flags.yes:
        if flags.api or not sys.stdin.isatty():
            raise InvalidInput(
                f"{name} would be installed from npm as {package}, which needs your confirmation.",
                suggestion=f"Confirm with: portico agents install {name} --yes",
            )
        print(_origin(name, package))
        if not await confirm("Install it?"):
            print("Nothing was installed.")
            return int(ExitCode.POLICY)
    folder = await _install(name, package, environ, shown=not flags.api)
    result = {"status": "ok", "agent": name, "package": str(package), "folder": str(folder)}
    print(
        msgspec.json.encode(result).decode() if flags.api else f"Installed {package} for {name} in {folder}."
    )
    return 0


async def _install_entry(entry: RegistryEntry, environ: Mapping[str, str], flags: argparse.Namespace) -> int:
    """Install an agent of the public registry, after it was said what will be fetched and run."""
    release = entry.release()
    if entry.distribution.npx is None and entry.distribution.uvx is None and release is not None:
        require_checksum(entry.id, release)
    if not flags.yes:
        if flags.api or not sys.stdin.isatty():
            raise InvalidInput(
                f"{entry.id} would be installed from {clean_line(entry.origin)}, which needs your confirmation.",
                suggestion=f"Confirm with: portico agents install {entry.id} --yes",
            )
        print("\n".join(describe_entry(entry)))
        if not await confirm("Install it?"):
            print("Nothing was installed.")
            return int(ExitCode.POLICY)
    if not flags.api:
        print(f"Installing {clean_line(entry.origin)}…", file=sys.stderr)
    done = await install_entry(entry, environ)
    result = {"status": "ok", "agent": done.name, "package": done.origin, "command": done.command(environ)}
    words = " ".join(done.command(environ))
    print(
        msgspec.json.encode(result).decode()
        if flags.api
        else f"Installed {clean_line(done.origin)} for {done.name}. It is started by: {clean_line(words)}"
    )
    return 0


def describe_entry(entry: RegistryEntry) -> list[str]:
    """Lines that say what would be fetched and run."""
    ways = entry.distribution
    way = ways.npx or ways.uvx or entry.release()
    extra = " ".join(way.args) if way is not None else ""
    lines = [
        f"{entry.name} {entry.version} ({entry.license or 'licence not stated'}): {entry.description}",
        f"It comes from {entry.origin}, with all that it depends on. It may run programs when installed.",
        f"It is started with {extra}." if extra else "It is started without arguments.",
    ]
    if way is not None and way.env:
        lines.append(f"It sets {' '.join(f'{name}={value}' for name, value in way.env.items())}.")
    return [clean_line(line) for line in lines]


async def offer_installation(
    registry: AgentRegistry, spec: AgentSpec, environ: Mapping[str, str]
) -> AgentSpec:
    """Ask the person at the terminal whether to install a known agent that is missing, and install it.

    Returns how to start the agent, unchanged if nothing is missing. AgentNotFound if the person does not say yes.
    """
    known = registry.known(spec.name)
    if known is None or known.package is None or spec != registry.resolve(spec.name):
        return spec
    if registry.find(spec.name) is not None or registry.problem(spec.name) is not None:
        return spec
    missing = f"{spec.name} is not installed."
    print(f"{missing} Looking up its package on npm…", file=sys.stderr)
    try:
        package = await newest_version(known.package, environ)
    except PorticoError as error:
        raise AgentNotFound(
            f"{missing} {error.message}", suggestion=error.suggestion, details=ErrorDetails(agent=spec.name)
        ) from error
    print(_origin(spec.name, package), file=sys.stderr)
    if not await confirm("Install it now?"):
        raise AgentNotFound(missing, suggestion=known.install_hint, details=ErrorDetails(agent=spec.name))
    folder = await _install(spec.name, package, environ, shown=True)
    print(f"Installed in {folder}.", file=sys.stderr)
    return registry.resolve(spec.name)


def _origin(name: str, package: NpmPackage) -> str:
    return f"{name} comes from npm: {clean_line(str(package))}, with all that it depends on. It may run programs when installed."


async def _install(name: str, package: NpmPackage, environ: Mapping[str, str], *, shown: bool) -> Path:
    """Install a package. With `shown`, standard error says so, and a terminal counts the seconds."""
    work = asyncio.create_task(install(name, package, environ), name=f"installing {name}")
    words = f"Installing {clean_line(str(package))}…"
    moves = shown and not is_plain_output(sys.stderr, environ.get("TERM", ""))
    if shown and not moves:
        print(words, file=sys.stderr)
    begun = time.monotonic()
    try:
        while not work.done():
            if moves:
                print(f"\r{words} {time.monotonic() - begun:.0f} s", end="", file=sys.stderr, flush=True)
            await asyncio.wait((work,), timeout=1)
        return await work
    finally:
        if moves:
            print(file=sys.stderr)
        await cancel_and_wait(work)
