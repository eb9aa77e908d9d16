"""Approvals for good: what is kept, who may read it, and what a spoiled file is worth."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from portico.acp import _schema as acp
from portico.conductor.permissions.action import RequestedAction, requested_action
from portico.conductor.permissions.approvals import MAX_FILE_BYTES, Approval, FileApprovals
from portico.conductor.permissions.policy import PermissionRule, parse_rule
from portico.domain.errors import InvalidInput, StoreFailed

WORKSPACE = "/work/project"
ANOTHER_PROCESS = """
import sys
from pathlib import Path
from portico.conductor.permissions.approvals import FileApprovals
from portico.conductor.permissions.policy import PermissionRule
approvals = FileApprovals(Path(sys.argv[1]), lambda: 0)
for number in range(25):
    approvals.add(PermissionRule("execute", f"{sys.argv[2]}-{number}", "fake"), workspace=None)
"""


class Clock:
    def __init__(self) -> None:
        self.now = 1_000

    def __call__(self) -> int:
        self.now += 1
        return self.now


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "approvals.json"


@pytest.fixture
def approvals(path: Path) -> FileApprovals:
    return FileApprovals(path, Clock())


def running(command: str, *, agent: str = "fake", workspace: str = WORKSPACE) -> RequestedAction:
    call = acp.ToolCallUpdate(tool_call_id="c", kind="execute", title=command)
    return requested_action(call, agent=agent, workspace=workspace)


def rule(text: str, agent: str | None = "fake") -> PermissionRule:
    parsed = parse_rule(text)
    return PermissionRule(parsed.kind, parsed.pattern, agent)


def test_what_is_added_is_there_for_another_process_to_read(approvals: FileApprovals, path: Path) -> None:
    made = approvals.add(rule("execute:pytest *"), workspace=WORKSPACE)
    assert FileApprovals(path, int).list() == (made,)
    assert (made.rule, made.agent, made.workspace) == ("execute:pytest *", "fake", WORKSPACE)
    assert (made.created_at, made.last_used, made.uses) == (1_001, None, 0)


def test_nothing_is_approved_before_anything_is(approvals: FileApprovals, path: Path) -> None:
    assert approvals.list() == ()
    assert approvals.use(running("pytest")) is None
    assert not path.parent.exists()


def test_the_same_approval_twice_is_one(approvals: FileApprovals) -> None:
    first = approvals.add(rule("edit:src/**"), workspace=WORKSPACE)
    assert approvals.add(rule("edit:src/**"), workspace=WORKSPACE) == first
    approvals.add(rule("edit:src/**"), workspace=None)
    approvals.add(rule("edit:src/**", "another"), workspace=WORKSPACE)
    assert len(approvals.list()) == 3


def test_an_approval_that_is_used_says_when_and_how_often(approvals: FileApprovals) -> None:
    approvals.add(rule("execute:pytest *"), workspace=WORKSPACE)
    for _ in range(3):
        assert approvals.use(running("pytest -x")) is not None
    (kept,) = approvals.list()
    assert (kept.uses, kept.last_used) == (3, 1_004)


@pytest.mark.parametrize(
    "deed",
    [
        running("make"),
        running("pytest; rm -r ."),
        running("pytest", agent="another"),
        running("pytest", workspace="/work/other"),
    ],
)
def test_an_approval_holds_for_its_agent_its_workspace_and_its_rule(
    approvals: FileApprovals, deed: RequestedAction
) -> None:
    approvals.add(rule("execute:pytest *"), workspace=WORKSPACE)
    assert approvals.use(deed) is None
    assert approvals.list()[0].uses == 0


def test_a_revoked_approval_approves_nothing(approvals: FileApprovals) -> None:
    kept = approvals.add(rule("execute:make"), workspace=None)
    gone = approvals.add(rule("execute:pytest *"), workspace=None)
    assert approvals.revoke(gone.id) == gone
    assert approvals.use(running("pytest")) is None
    assert approvals.list() == (kept,)


def test_an_approval_is_revoked_by_a_unique_beginning_of_its_id(approvals: FileApprovals, path: Path) -> None:
    many = [
        Approval(id=name, rule="edit", agent=None, workspace=None, created_at=0) for name in ("ab1", "ab2")
    ]
    write(path, [vars_of(one) for one in many])
    for unclear in ("ab", "", "zz"):
        with pytest.raises(InvalidInput, match="start"):
            approvals.revoke(unclear)
    assert approvals.revoke("ab2").id == "ab2"
    assert [one.id for one in approvals.list()] == ["ab1"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_only_its_owner_can_read_the_file(approvals: FileApprovals, path: Path) -> None:
    approvals.add(rule("edit"), workspace=None)
    approvals.use(running("x"))
    modes = {stat.S_IMODE(found.stat().st_mode) for found in path.parent.iterdir()}
    assert modes == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert sorted(found.name for found in path.parent.iterdir()) == ["approvals.json", "approvals.lock"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"approvals": {}}',
        b'{"version": 2, "approvals": []}',
        b'{"version": 1, "approvals": [{"id": "a", "rule": "all"}]}',
        b'{"version": 1, "approvals": [{"id": "a", "rule": 7, "agent": null, "workspace": null, "createdAt": 0}]}',
        b"\xff\xfe\x00",
        b'{"version": 1, "approvals": []}' + b" " * MAX_FILE_BYTES,
        b"[" * 100_000,
    ],
)
def test_a_broken_file_approves_nothing_and_is_left_as_it_is(
    approvals: FileApprovals, path: Path, content: bytes
) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    path.chmod(0o600)
    assert approvals.use(running("pytest")) is None
    for attempt in (
        approvals.list,
        lambda: approvals.add(rule("edit"), workspace=None),
        lambda: approvals.revoke("a"),
    ):
        with pytest.raises(InvalidInput, match="cannot be used") as refused:
            attempt()
        assert "Fix" in str(refused.value.suggestion)
    assert path.read_bytes() == content


def test_one_rule_that_is_none_spoils_only_itself(approvals: FileApprovals, path: Path) -> None:
    common = {"agent": None, "workspace": None, "createdAt": 0}
    write(path, [{"id": "a", "rule": "paint", **common}, {"id": "b", "rule": "execute:pytest *", **common}])
    found = approvals.use(running("pytest"))
    assert found is not None
    assert found.id == "b"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
@pytest.mark.parametrize("mode", [0o602, 0o620, 0o666])
def test_a_file_that_others_may_write_approves_nothing(
    approvals: FileApprovals, path: Path, mode: int
) -> None:
    approvals.add(rule("execute"), workspace=None)
    path.chmod(mode)
    assert approvals.use(running("pytest")) is None
    with pytest.raises(InvalidInput, match="other users"):
        approvals.list()


def test_a_folder_in_the_way_approves_nothing(approvals: FileApprovals, path: Path) -> None:
    path.mkdir(parents=True)
    assert approvals.use(running("pytest")) is None
    with pytest.raises(InvalidInput):
        approvals.list()


def test_a_place_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where the folder should be")
    approvals = FileApprovals(tmp_path / "state" / "approvals.json", int)
    with pytest.raises(StoreFailed, match="cannot be changed"):
        approvals.add(rule("edit"), workspace=None)


def test_a_write_that_fails_leaves_the_old_file_whole(
    approvals: FileApprovals, path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    approvals.add(rule("execute:pytest *"), workspace=None)
    before = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreFailed, match="No space left"):
        approvals.add(rule("edit"), workspace=None)
    assert approvals.use(running("pytest")) is not None
    assert "could not be counted" in caplog.text
    assert path.read_bytes() == before
    assert sorted(found.name for found in path.parent.iterdir()) == ["approvals.json", "approvals.lock"]


def test_two_processes_at_once_lose_nothing(approvals: FileApprovals, path: Path) -> None:
    others = [
        subprocess.Popen([sys.executable, "-c", ANOTHER_PROCESS, str(path), name]) for name in ("one", "two")
    ]
    assert [other.wait(60) for other in others] == [0, 0]
    kept = {one.rule for one in approvals.list()}
    assert kept == {f"execute:{name}-{number}" for name in ("one", "two") for number in range(25)}


def write(path: Path, records: list[dict[str, object]]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"version": 1, "approvals": records}))
    path.chmod(0o600)


def vars_of(approval: Approval) -> dict[str, object]:
    return {
        "id": approval.id,
        "rule": approval.rule,
        "agent": approval.agent,
        "workspace": approval.workspace,
        "createdAt": approval.created_at,
    }
