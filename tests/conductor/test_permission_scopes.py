"""Permissions for longer than once: for a session, or always."""

from pathlib import Path

import pytest

from portico.conductor.permissions.approvals import FileApprovals
from portico.conductor.permissions.broker import PermissionBroker
from portico.conductor.permissions.policy import PermissionPolicy
from tests.conductor.permission_support import (
    AGENT,
    SESSION,
    WORKSPACE,
    Scene,
    approvals_in,
    broker,
    edit,
    execute,
    selected,
)
from tests.conductor.support import chain


@pytest.fixture
def approvals(tmp_path: Path) -> FileApprovals:
    return approvals_in(tmp_path)


class TestScopes:
    async def test_the_lines_of_a_command_do_not_look_like_one_on_the_buttons(
        self, approvals: FileApprovals
    ) -> None:
        async with broker(approvals) as scene:
            scene.ask(execute("pytest\nrm -rf ~"))
            names = [option["name"] for option in (await scene.shown())["params"]["options"]]
        assert names[-1] == r"Always allow: execute:pytest\nrm -rf ~ (Portico)"

    async def test_for_this_session_holds_for_this_session_only(self, approvals: FileApprovals) -> None:
        async with broker(approvals) as scene:
            await scene.open("s2")
            scene.ask()
            scene.to_agent(id=(await scene.shown())["id"], result=selected("portico:session"))
            assert await scene.chosen() == "yes"
            scene.ask(execute("pytest tests"))
            assert await scene.chosen() == "yes"
            scene.ask(execute("pytest tests; rm -r ."))
            await scene.shown()
            scene.ask(session_id="s2")
            await scene.shown()
        assert approvals.list() == ()

    @pytest.mark.parametrize(("closed", "cwd"), [(True, WORKSPACE), (False, "/work/other")])
    async def test_for_this_session_ends_with_the_session_and_with_its_folder(
        self, approvals: FileApprovals, closed: bool, cwd: str
    ) -> None:
        async with broker(approvals) as scene:
            scene.ask()
            scene.to_agent(id=(await scene.shown())["id"], result=selected("portico:session"))
            assert await scene.chosen() == "yes"
            if closed:
                await scene.call("session/close", {"sessionId": SESSION}, {})
            await scene.call("session/load", {"sessionId": SESSION, "cwd": cwd, "mcpServers": []}, {})
            scene.ask()
            await scene.shown()

    async def test_what_was_allowed_for_good_and_taken_back_is_asked_again_in_the_same_session(
        self, approvals: FileApprovals
    ) -> None:
        async with broker(approvals) as scene:
            scene.ask()
            scene.to_agent(id=(await scene.shown())["id"], result=selected("portico:always"))
            assert await scene.chosen() == "yes"
            scene.ask(execute("pytest tests"))
            assert await scene.chosen() == "yes"
            approvals.revoke(approvals.list()[0].id)
            scene.ask(execute("pytest tests"))
            await scene.shown()

    async def test_always_holds_for_later_chains_in_the_same_workspace(
        self, approvals: FileApprovals
    ) -> None:
        async with broker(approvals) as scene:
            scene.ask()
            scene.to_agent(id=(await scene.shown())["id"], result=selected("portico:always"))
            assert await scene.chosen() == "yes"
        (kept,) = approvals.list()
        assert (kept.rule, kept.agent, kept.workspace) == ("execute:pytest *", AGENT, WORKSPACE)
        async with broker(approvals, knows_portico=True) as scene:
            scene.ask(execute("pytest tests"))
            told = await scene.told()
            assert (told["source"], told["rule"]) == ("approval", "execute:pytest *")
            assert await scene.chosen() == "yes"
            await scene.open("elsewhere", "/work/other")
            scene.ask(session_id="elsewhere")
            await scene.shown()
        assert approvals.list()[0].uses == 1
        async with broker(approvals, agent="another") as scene:
            scene.ask()
            await scene.shown()

    async def test_a_client_that_knows_portico_chooses_the_scope_beside_the_option(
        self, approvals: FileApprovals
    ) -> None:
        async with broker(approvals, knows_portico=True) as scene:
            scene.ask(edit("src/a.py"))
            shown = await scene.shown()
            assert shown["params"]["_meta"]["portico"]["rule"] == "edit:src/a.py"
            scope = {"theirs": 1, "portico": {"scope": "always", "rule": "edit:src/**"}}
            scene.to_agent(id=shown["id"], result=selected("yes", _meta=scope))
            assert (await scene.answer())["result"] == selected("yes", _meta={"theirs": 1})
            scene.ask(edit("src/b.py"))
            assert (await scene.told())["rule"] == "edit:src/**"
            assert await scene.chosen() == "yes"
        assert [one.rule for one in approvals.list()] == ["edit:src/**"]

    @pytest.mark.parametrize(
        "scope",
        [
            {"scope": "always", "rule": "edit:tests/**"},
            {"scope": "always", "rule": "not a rule"},
            {"scope": "always", "rule": "other-agent/edit"},
            {"scope": "always", "rule": 7},
            {"scope": "forever"},
            "always",
            None,
        ],
    )
    async def test_a_scope_that_does_not_fit_is_allowed_once(
        self, approvals: FileApprovals, scope: object
    ) -> None:
        async with broker(approvals, knows_portico=True) as scene:
            scene.ask(edit("src/a.py"))
            answer = selected("yes", _meta={"portico": scope})
            scene.to_agent(id=(await scene.shown())["id"], result=answer)
            assert (await scene.answer())["result"] == selected("yes")
            scene.ask(edit("src/a.py"))
            await scene.shown()
        assert approvals.list() == ()

    async def test_a_denial_is_remembered_by_nobody(self, approvals: FileApprovals) -> None:
        async with broker(approvals, knows_portico=True) as scene:
            scene.ask()
            answer = selected("no", _meta={"portico": {"scope": "always"}})
            scene.to_agent(id=(await scene.shown())["id"], result=answer)
            assert await scene.chosen() == "no"
            scene.ask()
            await scene.shown()
        assert approvals.list() == ()

    async def test_a_client_that_did_not_announce_it_has_no_scopes_to_choose(
        self, approvals: FileApprovals
    ) -> None:
        async with broker(approvals) as scene:
            scene.ask()
            answer = selected("yes", _meta={"portico": {"scope": "always"}})
            scene.to_agent(id=(await scene.shown())["id"], result=answer)
            assert await scene.chosen() == "yes"
            scene.ask()
            await scene.shown()
        assert approvals.list() == ()

    async def test_an_approval_that_cannot_be_kept_holds_for_the_session(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        (tmp_path / "approvals.json").write_text("{broken")
        async with broker(approvals_in(tmp_path)) as scene:
            scene.ask()
            scene.to_agent(id=(await scene.shown())["id"], result=selected("portico:always"))
            assert await scene.chosen() == "yes"
            scene.ask()
            assert await scene.chosen() == "yes"
        assert "this session only" in caplog.text
        assert (tmp_path / "approvals.json").read_text() == "{broken"

    async def test_what_the_answer_covers_is_taken_back_from_the_client(
        self, approvals: FileApprovals
    ) -> None:
        async with broker(approvals) as scene:
            await scene.open("s2")
            asked = [scene.ask(execute(f"pytest {name}", name)) for name in ("a", "b")]
            scene.ask(execute("make"))
            scene.ask(session_id="s2")
            shown = [await scene.shown() for _ in range(4)]
            scene.to_agent(id=shown[0]["id"], result=selected("portico:session"))
            answers = [await scene.answer() for _ in asked]
            assert [one["id"] for one in answers] == asked
            assert [one["result"] for one in answers] == [selected("yes")] * 2
            taken_back = await scene.ends.client.receive()
            assert (taken_back["method"], taken_back["params"]) == (
                "$/cancel_request",
                {"requestId": shown[1]["id"]},
            )
            scene.to_agent(id=shown[1]["id"], error={"code": -32800, "message": "cancelled"})
            await scene.nothing_more()

    async def test_a_client_that_knows_portico_hears_what_its_answer_settled(
        self, approvals: FileApprovals
    ) -> None:
        async with broker(approvals, knows_portico=True) as scene:
            scene.ask(execute("pytest a", "a"))
            scene.ask(execute("pytest b", "b"))
            shown = [await scene.shown(), await scene.shown()]
            answer = selected("yes", _meta={"portico": {"scope": "session"}})
            scene.to_agent(id=shown[0]["id"], result=answer)
            told = await scene.told()
            assert (told["toolCall"]["toolCallId"], told["source"]) == ("b", "approval")
            assert [await scene.chosen(), await scene.chosen()] == ["yes", "yes"]
            scene.to_agent(id=shown[1]["id"], result=selected("no"))
            await scene.nothing_more()


async def test_the_broker_that_stands_nearer_to_the_client_remembers(tmp_path: Path) -> None:
    outer, inner = approvals_in(tmp_path / "outer"), approvals_in(tmp_path / "inner")
    brokers = [
        PermissionBroker(agent=AGENT, policy=PermissionPolicy(), approvals=kept) for kept in (outer, inner)
    ]
    async with chain(*brokers) as ends:
        scene = Scene(ends)
        await scene.initialize(knows_portico=True)
        await scene.open()
        scene.ask()
        answer = selected("yes", _meta={"portico": {"scope": "always"}})
        scene.to_agent(id=(await scene.shown())["id"], result=answer)
        assert await scene.chosen() == "yes"
    assert [one.rule for one in outer.list()] == ["execute:pytest *"]
    assert inner.list() == ()
