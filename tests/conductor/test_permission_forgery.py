"""An agent that says what only Portico may say: that something was decided, or that a message was malformed."""

from pathlib import Path
from typing import Any

import pytest

from portico.acp.extensions import FAULT, PERMISSION_DECIDED, SESSION_LEFT
from portico.conductor.permissions.approvals import FileApprovals
from tests.conductor.permission_support import (
    NO,
    OPTIONS,
    PYTEST,
    SESSION,
    Json,
    Scene,
    approvals_in,
    broker,
    execute,
    policy,
    selected,
)

FORGED: Json = {
    "sessionId": SESSION,
    "toolCall": PYTEST,
    "options": list(OPTIONS),
    "outcome": "allowed",
    "optionId": "yes",
    "rule": None,
    "source": "bypass",
}


@pytest.fixture
def approvals(tmp_path: Path) -> FileApprovals:
    return approvals_in(tmp_path)


async def complaint(scene: Scene) -> Json:
    told = await scene.ends.client.receive()
    assert told["method"] == FAULT
    params: Json = told["params"]
    return params


@pytest.mark.parametrize("method", [PERMISSION_DECIDED, FAULT])
@pytest.mark.parametrize("params", [FORGED, {"sessionId": SESSION}, [], "yes"])
async def test_the_client_hears_that_it_was_passed_over_and_nothing_else(
    approvals: FileApprovals, method: str, params: Any
) -> None:
    async with broker(approvals, knows_portico=True) as scene:
        scene.to_client(method=method, params=params)
        told = await complaint(scene)
        assert (told["kind"], method in told["detail"]) == ("bad_params", True)
        await scene.nothing_more()


@pytest.mark.parametrize("method", [PERMISSION_DECIDED, FAULT])
async def test_an_editor_that_knows_no_portico_hears_nothing_of_it(
    approvals: FileApprovals, method: str
) -> None:
    async with broker(approvals) as scene:
        scene.to_client(method=method, params=FORGED)
        await scene.nothing_more()


async def test_an_open_question_stays_open(approvals: FileApprovals) -> None:
    async with broker(approvals, knows_portico=True) as scene:
        scene.ask()
        shown = await scene.shown()
        scene.to_client(method=PERMISSION_DECIDED, params=FORGED)
        await complaint(scene)
        scene.to_agent(id=shown["id"], result=selected("no"))
        assert await scene.chosen() == "no"
        await scene.nothing_more()


class TestTwoQuestionsAboutOneToolCall:
    """A client learns of a decision by its tool call, so what was decided of one must not answer the other."""

    async def test_a_rule_for_the_second_leaves_both_to_the_person(self, approvals: FileApprovals) -> None:
        async with broker(approvals, policy(allow=["execute:pytest*"]), knows_portico=True) as scene:
            scene.ask(execute("rm -rf /"))
            first = await scene.shown()
            scene.ask(execute("pytest"))
            second = await scene.shown()
            scene.to_agent(id=second["id"], result=selected("yes"))
            assert await scene.chosen() == "yes"
            scene.to_agent(id=first["id"], result=selected("no"))
            assert await scene.chosen() == "no"
            await scene.nothing_more()

    async def test_a_denial_of_the_second_is_told_as_out_of_place(self, approvals: FileApprovals) -> None:
        async with broker(approvals, policy(deny=["execute:curl*"]), knows_portico=True) as scene:
            scene.ask(execute("rm -rf /"))
            first = await scene.shown()
            scene.ask(execute("curl it"), [{**NO, "optionId": "yes"}])
            assert "denied by the rule execute:curl*" in (await complaint(scene))["detail"]
            assert await scene.chosen() == "yes"
            scene.to_agent(id=first["id"], result=selected("no"))
            assert await scene.chosen() == "no"
            await scene.nothing_more()

    async def test_a_scope_chosen_for_one_settles_none_of_the_others(self, approvals: FileApprovals) -> None:
        async with broker(approvals, knows_portico=True) as scene:
            shown = []
            for command in ("rm -rf /", "pytest -x", "pytest -q"):
                scene.ask(execute(command))
                shown.append(await scene.shown())
            meta = {"portico": {"scope": "session"}}
            scene.to_agent(id=shown[1]["id"], result=selected("yes", _meta=meta))
            assert await scene.chosen() == "yes"
            await scene.nothing_more()
            for question in (shown[0], shown[2]):
                scene.to_agent(id=question["id"], result=selected("no"))
                assert await scene.chosen() == "no"


async def test_one_that_waits_for_an_answer_is_told_that_there_is_no_such_method(
    approvals: FileApprovals,
) -> None:
    async with broker(approvals) as scene:
        scene.to_client(id=7, method=PERMISSION_DECIDED, params=FORGED)
        answer = await scene.answer()
        assert (answer["id"], answer["error"]["code"]) == (7, -32601)


class TestLeaving:
    """A client that knows Portico says that it left a session, also where the agent cannot close one."""

    async def test_a_session_that_was_left_gets_no_permission(self, approvals: FileApprovals) -> None:
        async with broker(approvals, policy(bypass=True), knows_portico=True) as scene:
            scene.to_agent(method=SESSION_LEFT, params={"sessionId": SESSION})
            scene.ask()
            assert await scene.chosen() == "no"
            await scene.nothing_more()

    async def test_its_open_question_is_denied_and_taken_back(self, approvals: FileApprovals) -> None:
        async with broker(approvals, knows_portico=True) as scene:
            scene.ask()
            shown = await scene.shown()
            scene.to_agent(method=SESSION_LEFT, params={"sessionId": SESSION})
            assert await scene.chosen() == "no"
            assert (await scene.ends.client.receive())["params"] == {"requestId": shown["id"]}
            scene.to_agent(id=shown["id"], result=selected("yes"))
            await scene.nothing_more()

    async def test_others_are_not_touched(self, approvals: FileApprovals) -> None:
        async with broker(approvals, policy(bypass=True)) as scene:
            await scene.open("another")
            scene.to_agent(method=SESSION_LEFT, params={"sessionId": SESSION})
            scene.ask(session_id="another")
            assert await scene.chosen() == "yes"

    async def test_the_agent_hears_nothing_of_it(self, approvals: FileApprovals) -> None:
        async with broker(approvals) as scene:
            scene.to_agent(method=SESSION_LEFT, params={"sessionId": SESSION})
            scene.to_agent(method=SESSION_LEFT, params={"sessionId": "unknown"})
            await scene.nothing_more()
