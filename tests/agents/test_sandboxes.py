"""Confinement of an agent by the flag, the settings and its session."""

import json
import os
import sys
from pathlib import Path

import pytest

from portico.agents.registry import PORTER, AgentRegistry
from portico.agents.sandbox_policy import AppliedSandbox, SandboxPolicy
from portico.domain.errors import InvalidInput, PermissionDenied
from portico.domain.values import SandboxStatus
from portico.sandbox import backends
from portico.sandbox.backends import SandboxBackend
from portico.sandbox.confinement import Confinement
from portico.sandbox.wrapper import sandbox_wrapper
from portico.sessions.ports import AgentSpec

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no sandbox for Windows")

AGENT = AgentSpec(name="tester", command=("/bin/sh",))


class Place:
    """A workspace with settings of its own and of the user."""

    def __init__(self, base: Path) -> None:
        self.workspace = base / "workspace"
        self.copy = base / "copy"
        for folder in (self.workspace / ".portico", self.copy, base / "home" / "config"):
            folder.mkdir(parents=True)
        self.environ = {"HOME": str(base), "PORTICO_HOME": str(base / "home"), "PATH": os.environ["PATH"]}
        self._base = base

    def user(self, **sandbox: object) -> None:
        (self._base / "home" / "config" / "settings.json").write_text(json.dumps({"sandbox": sandbox}))

    def project(self, **sandbox: object) -> None:
        (self.workspace / ".portico" / "settings.json").write_text(json.dumps({"sandbox": sandbox}))

    def confine(
        self, spec: AgentSpec = AGENT, *, flag: str = "", copy: bool = False, reads: bool = False
    ) -> AppliedSandbox:
        sandboxes = SandboxPolicy({**self.environ, "PORTICO_SANDBOX": flag})
        return sandboxes.confine(spec, self.workspace, self.copy if copy else None, reads_only=reads)

    def level(self, *, flag: str = "", copy: bool = False, reads: bool = False) -> str:
        state = self.confine(flag=flag, copy=copy, reads=reads).state
        return "none" if state is None else state.level


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A place on a machine where any confinement can be had."""

    def wrapper(confinement: Confinement) -> tuple[str, ...]:
        return ("confined", str(confinement.network))

    monkeypatch.setattr(backends, "BACKENDS", (SandboxBackend("any", wrapper),))
    monkeypatch.setattr(backends, "probe_backend", lambda _backend, **_: None)
    return Place(tmp_path)


def nothing_confines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "probe_backend", lambda _backend, **_: "this kernel is too old")


def test_who_reads_only_or_works_in_a_copy_is_confined_and_others_are_not(place: Place) -> None:
    assert (place.level(), place.level(copy=True), place.level(reads=True)) == (
        "none",
        "workspace",
        "workspace",
    )


def test_the_flag_comes_before_the_settings(place: Place) -> None:
    place.user(level="strict")
    assert place.level() == "strict"
    assert place.level(flag="none", copy=True) == "none"
    assert place.level(flag="workspace") == "workspace"
    with pytest.raises(InvalidInput, match="Unknown sandbox level"):
        place.level(flag="much")


def test_a_workspace_can_ask_for_more_and_never_for_less(place: Place) -> None:
    place.user(level="workspace")
    place.project(level="none", write=["/"], network=["*:*"])
    assert place.level() == "workspace"
    place.project(level="strict", network=["example.org:443"], write=["/"])
    assert place.confine().wrapper == ("confined", "()")
    place.user()
    place.project(level="none")
    assert place.level(copy=True) == "workspace"


def test_a_strict_sandbox_has_the_hosts_of_the_user(place: Place) -> None:
    place.user(level="strict", network=["example.org:443"])
    assert place.confine().wrapper == ("confined", "('example.org:443',)")


def test_what_is_implied_and_cannot_be_had_is_told(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing_confines(monkeypatch)
    confined = place.confine(copy=True)
    assert confined.wrapper == ()
    assert confined.state == SandboxStatus(
        note="This agent is not confined: no sandbox works here (any: this kernel is too old)."
    )


@pytest.mark.parametrize("flag", ["workspace", "strict"])
def test_what_a_flag_asks_for_is_had_or_the_agent_does_not_start(
    place: Place, monkeypatch: pytest.MonkeyPatch, flag: str
) -> None:
    nothing_confines(monkeypatch)
    with pytest.raises(PermissionDenied, match="this kernel is too old") as refusal:
        place.confine(flag=flag)
    assert refusal.value.suggestion is not None


def test_no_agent_starts_without_a_sandbox_that_is_required(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.user(required=True)
    assert place.level() == "workspace"
    nothing_confines(monkeypatch)
    with pytest.raises(PermissionDenied, match="required"):
        place.confine()


def test_a_strict_level_that_is_not_required_becomes_the_next_best_and_says_so(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.user(level="strict")
    monkeypatch.setattr(
        backends, "probe_backend", lambda _backend, *, offline: "no network filter" if offline else None
    )
    state = place.confine().state
    assert state is not None
    assert (state.level, "no network filter" in state.note) == ("workspace", True)


def test_porter_runs_unconfined_and_confines_what_it_starts(place: Place) -> None:
    porter = AgentRegistry(python=sys.executable, environ={}).resolve(PORTER)
    confined = place.confine(porter, copy=True)
    assert confined.wrapper == ()
    assert sandbox_wrapper(confined.environ) == ("confined", "None")
    assert confined.state is not None
    assert "Porter itself is not confined" in confined.state.note


def test_a_command_is_confined_like_the_agent_that_it_is_run_for(place: Place) -> None:
    sandboxes = SandboxPolicy(place.environ)
    assert sandboxes.command_wrapper(place.workspace, place.copy) == ()
    sandboxes.confine(AGENT, place.workspace, place.copy, reads_only=False)
    assert sandboxes.command_wrapper(place.workspace, place.copy) == ("confined", "None")
    assert sandboxes.command_wrapper(place.workspace, None) == ()


def test_files_need_no_comparison_exactly_where_the_kernel_keeps_the_agent_out(place: Place) -> None:
    def kept_out(spec: AgentSpec = AGENT, *, flag: str = "", implied: bool = True) -> bool:
        sandboxes = SandboxPolicy({**place.environ, "PORTICO_SANDBOX": flag})
        return sandboxes.keeps_out(spec, place.workspace, implied=implied)

    assert kept_out()
    assert kept_out(flag="strict")
    assert not kept_out(flag="none")
    assert not kept_out(implied=False)
    porter = AgentRegistry(python=sys.executable, environ={}).resolve(PORTER)
    assert not kept_out(porter), "Porter itself is not confined."
    place.user(write=[str(place.workspace / "src")])
    assert not kept_out(), "The person has opened a part of the workspace."
    sandboxes = SandboxPolicy(place.environ)
    assert sandboxes.keeps_out(AGENT, place.workspace, implied=True, tree=place.copy), "It is another folder."
    assert not sandboxes.keeps_out(AGENT, place.copy, implied=True, tree=place.workspace / "src" / "inner")


def test_where_no_backend_works_files_are_compared(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "BACKENDS", ())
    assert not SandboxPolicy(place.environ).keeps_out(AGENT, place.workspace, implied=True)


def test_a_workspace_that_is_only_read_is_shown_wherever_it_is(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Confinement] = []

    def wrapper(confinement: Confinement) -> tuple[str, ...]:
        given.append(confinement)
        return ("confined",)

    monkeypatch.setattr(backends, "BACKENDS", (SandboxBackend("any", wrapper),))
    place.confine(reads=True)
    assert all(place.workspace in one.readable and place.workspace not in one.writable for one in given)


def test_who_reads_beside_a_session_that_writes_does_not_confine_its_commands(place: Place) -> None:
    sandboxes = SandboxPolicy(place.environ)
    sandboxes.confine(AGENT, place.workspace, None, reads_only=False)
    sandboxes.confine(AGENT, place.workspace, None, reads_only=True)
    assert sandboxes.command_wrapper(place.workspace, None) == ()


@pytest.fixture
def asked(place: Place, monkeypatch: pytest.MonkeyPatch) -> list[Confinement]:
    """The confinements that agents were started with."""
    found: list[Confinement] = []

    def wrapper(confinement: Confinement) -> tuple[str, ...]:
        found.append(confinement)
        return ("confined",)

    monkeypatch.setattr(backends, "BACKENDS", (SandboxBackend("any", wrapper),))
    return found


def test_an_agent_that_is_known_may_write_its_own_folders(place: Place, asked: list[Confinement]) -> None:
    home = Path(place.environ["HOME"])
    place.confine(AgentSpec(name="opencode", command=("/usr/bin/opencode", "acp")), copy=True)
    assert {home / ".config" / "opencode", home / ".local" / "share" / "opencode"} <= {*asked[0].writable}
    assert (home / ".local" / "state" / "opencode").is_dir()
    place.confine(
        AgentSpec(name="mine", command=("/opt/bin/codex-acp",), env={"CODEX_HOME": str(home / "codex")}),
        copy=True,
    )
    assert home / "codex" in asked[-2].writable


def test_what_the_user_names_may_be_written(place: Place, asked: list[Confinement]) -> None:
    place.user(write=["~/cache", "/srv/shared", "partly/named"])
    place.confine(copy=True)
    assert Path("/srv/shared") in asked[0].writable
    assert not any("partly" in str(path) for path in asked[0].writable)


def test_a_program_in_the_hidden_workspace_can_be_run_and_nothing_else_of_it_is_shown(
    place: Place, asked: list[Confinement]
) -> None:
    program = place.workspace / ".venv" / "bin" / "agent"
    program.parent.mkdir(parents=True)
    program.touch()
    place.confine(AgentSpec(name="agent", command=(str(program),)), copy=True)
    assert place.workspace in asked[0].hidden
    assert [path for path in asked[0].readable if path.is_relative_to(place.workspace)] == [
        place.workspace / ".venv"
    ]
