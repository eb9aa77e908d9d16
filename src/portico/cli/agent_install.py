"""`portico agents install`: fetches a known agent from npm, once the person has said yes to package and version."""

import argparse
import asyncio
import sys
from collections.abc import Mapping

import msgspec

from portico.agents.installation import install, newest_version
from portico.agents.registry import AgentRegistry
from portico.cli.confirming import is_sure
from portico.domain.errors import AgentNotFound, ErrorDetails, ExitCode, InvalidInput


def install_agent(
    registry: AgentRegistry, name: str, environ: Mapping[str, str], flags: argparse.Namespace
) -> int:
    """Install the named agent, or say why that is not for Portico to do. The exit code."""
    known = registry.known(name)
    if known is None:
        registry.resolve(name)  # AgentNotFound, with the names that there are.
        raise InvalidInput(
            f"{name} is started by a command of yours or of Portico's; there is nothing to install."
        )
    if known.package is None:
        raise AgentNotFound(
            f"{name} is in no package that Portico knows.",
            suggestion=known.install_hint,
            details=ErrorDetails(agent=name),
        )
    package = newest_version(known.package, environ)
    if not flags.yes:
        if flags.api or not sys.stdin.isatty():
            raise InvalidInput(
                f"{name} would be fetched from npm as {package}, and nobody can be asked here.",
                suggestion=f"Say yes with: portico agents install {name} --yes",
            )
        print(
            f"{name} comes from npm: {package}, with all that it depends on. It may run programs when installed."
        )
        if not asyncio.run(is_sure("Install it?")):
            print("Nothing was installed.")
            return int(ExitCode.POLICY)
    folder = install(name, package, environ)
    told = {"status": "ok", "agent": name, "package": str(package), "folder": str(folder)}
    print(msgspec.json.encode(told).decode() if flags.api else f"Installed {package} for {name} in {folder}.")
    return 0
