"""`portico doctor`: checks the installation and says what is missing."""

import asyncio
import os
import platform
import shutil
import sqlite3
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from portico import __version__
from portico.agents.registry import AgentRegistry
from portico.app.event_log import chosen_log
from portico.app.host import python_program
from portico.cli.arguments import CommandParser
from portico.cli.session_options import check_rules
from portico.config.paths import config_folder
from portico.config.settings import AGENT_VARIABLE, load_settings
from portico.domain.errors import AgentNotFound, InvalidInput, PorticoError

_OLDEST_SQLITE = (3, 31)
_SIGNS = {"ok": "✓", "note": "·", "problem": "✗"}


FindingVerdict = Literal["ok", "note", "problem"]


class DoctorFinding(msgspec.Struct, frozen=True, omit_defaults=True):
    """One check. A note is worth knowing; a problem stops Portico from working."""

    subject: str
    verdict: FindingVerdict
    detail: str
    suggestion: str | None = None


def run(arguments: Sequence[str]) -> int:
    parser = CommandParser("doctor", "Check this installation.")
    flags = parser.parse(arguments)
    findings = list(_look(dict(os.environ)))
    healthy = all(finding.verdict != "problem" for finding in findings)
    if flags.api:
        report = {"status": "ok" if healthy else "failed", "version": __version__, "findings": findings}
        print(msgspec.json.encode(report).decode())
    else:
        width = max(len(finding.subject) for finding in findings)
        for finding in findings:
            print(f"{_SIGNS[finding.verdict]} {finding.subject:<{width}}  {finding.detail}")
            if finding.suggestion:
                print(f"  {'':<{width}}  {finding.suggestion}")
        print("\nEverything works." if healthy else "\nThere are problems; see above.")
    return 0 if healthy else 2


def _look(environ: Mapping[str, str]) -> Iterator[DoctorFinding]:
    yield DoctorFinding(
        "portico", "ok", f"{__version__} on Python {platform.python_version()}, {sys.platform}"
    )
    yield _sqlite()
    yield from _store(environ)
    yield _git()
    yield _sandbox()
    yield from _settings_and_agents(environ)


def _sqlite() -> DoctorFinding:
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        wanted = ".".join(map(str, _OLDEST_SQLITE))
        hint = f"Use a Python built with SQLite {wanted} or newer."
        return DoctorFinding("sqlite", "problem", sqlite3.sqlite_version, hint)
    return DoctorFinding("sqlite", "ok", sqlite3.sqlite_version)


def _store(environ: Mapping[str, str]) -> Iterator[DoctorFinding]:
    try:
        place, count, problems = asyncio.run(_open_store(environ))
    except PorticoError as error:
        yield DoctorFinding("event log", "problem", error.message, error.suggestion)
        return
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        hint = "See them all with: portico sessions verify"
        yield DoctorFinding("event log", "problem", problems[0] + more, hint)
    else:
        sessions = "1 session" if count == 1 else f"{count} sessions"
        yield DoctorFinding("event log", "ok", f"{sessions}, complete, in {place}")


async def _open_store(environ: Mapping[str, str]) -> tuple[str, int, list[str]]:
    store = chosen_log(environ)
    await store.open()
    try:
        return store.place, len(await store.summaries(limit=1_000_000)), await store.verify()
    finally:
        await store.close()


def _git() -> DoctorFinding:
    found = shutil.which("git")
    if found is None:
        return DoctorFinding("git", "note", "not found", "Install git to work on branches and in worktrees.")
    return DoctorFinding("git", "ok", found)


def _sandbox() -> DoctorFinding:
    """The sandbox backends that work here, each tried in the way it would be used."""
    from portico.sandbox.backends import BACKENDS, probe_backend

    tried = {backend.name: probe_backend(backend, offline=True) for backend in BACKENDS}
    working = [name for name, problem in tried.items() if problem is None]
    if working:
        return DoctorFinding(
            "sandbox", "ok", f"{' and '.join(working)} confine{'s' * (len(working) == 1)} agents"
        )
    reasons = "; ".join(f"{name}: {problem}" for name, problem in tried.items())
    hint = "Agents that only read or propose run unconfined. Install bubblewrap, and allow user namespaces."
    return DoctorFinding("sandbox", "note", reasons, hint)


def _settings_and_agents(environ: Mapping[str, str]) -> Iterator[DoctorFinding]:
    try:
        settings = load_settings(config_folder(environ), Path.cwd())
        check_rules(settings)
    except InvalidInput as error:
        yield DoctorFinding("settings", "problem", error.message, error.suggestion)
        return
    where = "workspace trusted" if settings.trusted else "workspace not trusted"
    yield DoctorFinding("settings", "ok", f"{config_folder(environ) / 'settings.json'}; {where}")
    for problem in settings.problems:
        yield DoctorFinding("workspace settings", "note", problem, "Correct or remove the file.")
    registry = AgentRegistry(python=python_program(), environ=environ, custom=settings.agents)
    default = environ.get(AGENT_VARIABLE) or settings.agent
    try:
        registry.resolve(default)
    except AgentNotFound as error:
        yield DoctorFinding("agent", "problem", error.message, error.suggestion)
    for name in registry.names():
        agent = registry.describe(name, default)
        if agent.problem is not None:
            verdict: FindingVerdict = "problem" if agent.default else "note"
            yield DoctorFinding(f"agent {name}", verdict, agent.problem, agent.hint)
        elif agent.installed:
            yield DoctorFinding(f"agent {name}", "ok", " ".join(agent.command))
        else:
            yield DoctorFinding(f"agent {name}", "note", agent.hint or "not installed")
