"""`portico doctor`: looks at what Portico stands on and says what to do about what is missing."""

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
from portico.cli.agents import listed_agent
from portico.cli.arguments import Arguments
from portico.cli.choosing import check_rules
from portico.cli.host import python_program
from portico.config.paths import config_folder, state_folder
from portico.config.settings import AGENT_VARIABLE, load_settings
from portico.domain.errors import AgentNotFound, InvalidInput, PorticoError
from portico.store.sqlite import SqliteStore

_OLDEST_SQLITE = (3, 31)
_SIGNS = {"ok": "✓", "note": "·", "problem": "✗"}


Verdict = Literal["ok", "note", "problem"]


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing looked at. A note is worth knowing; a problem stops Portico from working."""

    subject: str
    verdict: Verdict
    detail: str
    suggestion: str | None = None


def run(arguments: Sequence[str]) -> int:
    parser = Arguments("doctor", "Check this installation and say what is missing.")
    flags = parser.parse_args(arguments)
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
        print("\nAll is well." if healthy else "\nSomething is missing; see above.")
    return 0 if healthy else 2


def _look(environ: Mapping[str, str]) -> Iterator[Finding]:
    yield Finding("portico", "ok", f"{__version__} on Python {platform.python_version()}, {sys.platform}")
    yield _sqlite()
    yield from _store(environ)
    yield _git()
    yield _sandbox()
    yield from _settings_and_agents(environ)


def _sqlite() -> Finding:
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        wanted = ".".join(map(str, _OLDEST_SQLITE))
        hint = f"Use a Python built with SQLite {wanted} or newer."
        return Finding("sqlite", "problem", sqlite3.sqlite_version, hint)
    return Finding("sqlite", "ok", sqlite3.sqlite_version)


def _store(environ: Mapping[str, str]) -> Iterator[Finding]:
    folder = state_folder(environ)
    try:
        count, problems = asyncio.run(_open_store(folder))
    except PorticoError as error:
        yield Finding("event log", "problem", error.message, error.suggestion)
        return
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        hint = "See them all with: portico sessions verify"
        yield Finding("event log", "problem", problems[0] + more, hint)
    else:
        sessions = "1 session" if count == 1 else f"{count} sessions"
        yield Finding("event log", "ok", f"{sessions}, whole, in {folder}")


async def _open_store(folder: Path) -> tuple[int, list[str]]:
    store = SqliteStore(folder)
    await store.open()
    try:
        return len(await store.summaries(limit=1_000_000)), await store.verify()
    finally:
        await store.close()


def _git() -> Finding:
    found = shutil.which("git")
    if found is None:
        return Finding("git", "note", "not found", "Install git to work on branches and in worktrees.")
    return Finding("git", "ok", found)


def _sandbox() -> Finding:
    """Which backends confine agents here, each tried as it would be used."""
    from portico.sandbox.kernel import BACKENDS, trial

    tried = {backend.name: trial(backend, offline=True) for backend in BACKENDS}
    working = [name for name, problem in tried.items() if problem is None]
    if working:
        return Finding("sandbox", "ok", f"{' and '.join(working)} confine{'s' * (len(working) == 1)} agents")
    reasons = "; ".join(f"{name}: {problem}" for name, problem in tried.items())
    hint = "Agents that only read or propose run unconfined. Install bubblewrap, and allow user namespaces."
    return Finding("sandbox", "note", reasons, hint)


def _settings_and_agents(environ: Mapping[str, str]) -> Iterator[Finding]:
    try:
        settings = load_settings(config_folder(environ), Path.cwd())
        check_rules(settings)
    except InvalidInput as error:
        yield Finding("settings", "problem", error.message, error.suggestion)
        return
    where = "workspace trusted" if settings.trusted else "workspace not trusted"
    yield Finding("settings", "ok", f"{config_folder(environ) / 'settings.json'}; {where}")
    for problem in settings.problems:
        yield Finding("workspace settings", "note", problem, "Correct or remove the file.")
    registry = AgentRegistry(python=python_program(), environ=environ, custom=settings.agents)
    default = environ.get(AGENT_VARIABLE) or settings.agent
    try:
        registry.resolve(default)
    except AgentNotFound as error:
        yield Finding("agent", "problem", error.message, error.suggestion)
    for name in registry.names():
        agent = listed_agent(registry, name, default)
        if agent.problem is not None:
            verdict: Verdict = "problem" if agent.default else "note"
            yield Finding(f"agent {name}", verdict, agent.problem, agent.hint)
        elif agent.installed:
            yield Finding(f"agent {name}", "ok", " ".join(agent.command))
        else:
            yield Finding(f"agent {name}", "note", agent.hint or "not installed")
