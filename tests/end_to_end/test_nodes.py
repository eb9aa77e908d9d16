"""Nodes of a team: any door on any node reaches any session, and a dead node's sessions are taken over."""

import json
import signal
from pathlib import Path

import psycopg

from portico.domain.ids import SessionId
from portico.store.postgres.store import PostgresStore
from tests.support.postgres import database, postgres
from tests.support.stream import Json
from tests.support.team import OpenTeam, TeamNode, open_team
from tests.support.waiting import wait_until

__all__ = ["database", "open_team", "postgres"]


def waiting_permission(node: TeamNode, session_id: str) -> Json:
    def asked() -> list[Json]:
        detail = node.ask("GetSession", sessionId=session_id)["session"]
        found: list[Json] = detail.get("permissions", [])
        return found

    wait_until(lambda: bool(asked()), "the permission request")
    return asked()[0]


async def check_log(database: str, folder: Path, *sessions: str) -> None:
    """The log is whole, and has no number twice."""
    store = PostgresStore(database, folder / "checked")
    await store.open()
    try:
        assert await store.verify() == []
        for name in sessions:
            events = await store.read(SessionId(name), after_seq=0, limit=100_000)
            assert [event.seq for event in events] == list(range(1, len(events) + 1))
    finally:
        await store.close()


async def test_every_node_reaches_a_session_through_its_owner(
    open_team: OpenTeam, database: str, tmp_path: Path
) -> None:
    alpha, beta, gamma = open_team("alpha", "beta", "gamma", flags={"gamma": ("--label", "gpu")})
    session_id = alpha.begin(workspace=str(alpha.workspace))
    watching = gamma.server.stream("Watch", {"sessionId": session_id})
    beta.prompt(session_id, "permission", "say done")
    asked = waiting_permission(gamma, session_id)
    option = next(one for one in asked["options"] if "ALLOW" in one["kind"])
    decision = {"requestId": asked["requestId"], "optionId": option["optionId"]}
    gamma.ask("SubmitClientEvent", sessionId=session_id, permissionDecisions={"decisions": [decision]})
    watching.until("done")
    watching.leave()
    beta.wait_for_state(session_id, "completed")
    # The folder is on alpha alone, so no other node opened the session.
    (listed,) = [one for one in nodes(beta) if one["name"] == "alpha"]
    assert (listed["sessions"], listed["state"]) == (1, "running")
    # A label chooses the node, and its own folder is used.
    labelled = beta.begin(labels=["gpu"])
    assert beta.summary(labelled)["workspace"] == str(gamma.workspace)
    assert "no running node with the labels tpu" in beta.refused("StartSession", labels=["tpu"])
    await check_log(database, tmp_path, session_id, labelled)


async def test_sessions_of_a_killed_node_are_taken_over_or_say_what_they_need(
    open_team: OpenTeam, database: str, tmp_path: Path
) -> None:
    alpha, beta = open_team("alpha", "beta")
    shared = str(tmp_path / "shared")
    # While the loads are equal, the shared folder is served by the node that was asked.
    moving = alpha.begin(workspace=shared)
    own = alpha.begin(workspace=str(alpha.workspace))
    for session_id in (own, moving):
        alpha.prompt(session_id, "say before", "hang")
        beta.wait_for_state(session_id, "streaming")
    watching = beta.server.stream("Watch", {"sessionId": moving})
    watching.until("before")
    alpha.kill()
    for session_id in (own, moving):
        beta.wait_for_state(session_id, "interrupted")
    watching.until("TURN_STATE_INTERRUPTED")
    assert "before" in json.dumps(beta.ask("GetTimeline", sessionId=own))
    said = beta.refused("SubmitPrompt", sessionId=own, text="say more")
    assert "on node alpha, which is not running" in said
    beta.prompt(moving, "say after")
    watching.until("after")
    watching.leave()
    beta.wait_for_state(moving, "completed")
    # The node comes back, and so does its session.
    alpha.serve()
    beta.prompt(own, "say again")
    beta.wait_for_state(own, "completed")
    alpha.wait_for_state(moving, "completed")
    await check_log(database, tmp_path, own, moving)


async def test_a_node_that_was_paused_cannot_write_to_a_session_that_was_taken_over(
    open_team: OpenTeam, database: str, tmp_path: Path
) -> None:
    alpha, beta = open_team("alpha", "beta")
    session_id = alpha.begin(workspace=str(tmp_path / "shared"))
    owner, other = owner_first(alpha, beta)
    go_on = tmp_path / "go"
    owner.prompt(session_id, "say before", f"wait {go_on}", "say late")
    other.wait_for_state(session_id, "streaming")
    owner.running.signal(signal.SIGSTOP)
    other.wait_for_state(session_id, "interrupted")
    other.prompt(session_id, "say taken over")
    other.wait_for_state(session_id, "completed")
    owner.running.signal(signal.SIGCONT)
    go_on.touch()
    wait_until(lambda: open_sessions(owner) == 0, "the end of the session on the former owner")
    # It shows the log of the new owner, and sends prompts there.
    owner.prompt(session_id, "say from the former owner")
    owner.wait_for_state(session_id, "completed")
    timeline = json.dumps(owner.ask("GetTimeline", sessionId=session_id, limit=500))
    assert "from the former owner" in timeline
    assert "late" not in timeline.replace("say late", "")
    await check_log(database, tmp_path, session_id)


def test_a_drained_node_finishes_its_turns_and_its_sessions_move(open_team: OpenTeam, tmp_path: Path) -> None:
    alpha, beta = open_team("alpha", "beta")
    shared, go_on = str(tmp_path / "shared"), tmp_path / "go"
    session_id = alpha.begin(workspace=shared)
    owner, other = owner_first(alpha, beta)
    other.prompt(session_id, f"wait {go_on}", "say finished")
    late = other.run("node", "drain", owner.name, "--wait", "0.1")
    assert (late.code, "still has 1 open session" in late.err) == (2, True), late.err
    draining = other.start("node", "drain", owner.name)
    assert owner.begin(workspace=shared) != session_id
    wait_until(lambda: open_sessions(other) == 1, "the new session on the other node")
    go_on.touch()
    ended = draining.end()
    assert (ended.code, ended.text) == (0, f"Node {owner.name} has no open session. It can be stopped.\n")
    other.prompt(session_id, "say moved")
    other.wait_for_state(session_id, "completed")
    wait_until(lambda: open_sessions(other) == 2, "the moved session on the other node")
    assert other.run("node", "resume", owner.name).code == 0
    assert 'Unknown node "gone"' in other.run("node", "drain", "gone").err


def nodes(node: TeamNode) -> list[Json]:
    found: list[Json] = node.run("node", "list", "--api").api["nodes"]
    return found


def open_sessions(node: TeamNode) -> int:
    """Number of open sessions of a node, as of its last heartbeat."""
    with psycopg.connect(node.database) as connection:
        row = connection.execute("SELECT sessions FROM nodes WHERE name = %s", (node.name,)).fetchone()
    assert row is not None
    return int(row[0])


def owner_first(one: TeamNode, other: TeamNode) -> tuple[TeamNode, TeamNode]:
    """Two nodes, the one that has a session open first."""
    wait_until(lambda: bool(open_sessions(one) or open_sessions(other)), "an open session")
    return (one, other) if open_sessions(one) else (other, one)
