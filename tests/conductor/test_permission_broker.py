"""The permission broker as a person, an agent and a client see it."""

import json
from pathlib import Path

import pytest

from portico.conductor.permissions.approvals import FileApprovals
from portico.conductor.permissions.policy import PermissionPolicy
from portico.testing import FrameChecker
from tests.acp.schema_examples import SCHEMA
from tests.conductor.permission_support import (
    AGENT,
    ALWAYS,
    NO,
    ONCE,
    OPTIONS,
    PYTEST,
    SESSION,
    Json,
    approvals_in,
    broker,
    execute,
    policy,
    selected,
)


@pytest.fixture
def approvals(tmp_path: Path) -> FileApprovals:
    return approvals_in(tmp_path)


class TestAsking:
    async def test_the_agents_own_options_stand_first_and_unchanged(self, approvals: FileApprovals) -> None:
        async with broker(approvals) as scene:
            scene.ask(_meta={"own": 1.50})
            shown = (await scene.shown())["params"]
        assert shown["options"][:4] == list(OPTIONS)
        assert shown["toolCall"] == PYTEST
        assert shown["_meta"] == {"own": 1.5}

    async def test_an_editor_that_knows_no_scopes_gets_two_options_more(
        self, approvals: FileApprovals
    ) -> None:
        async with broker(approvals) as scene:
            scene.ask()
            more = (await scene.shown())["params"]["options"][4:]
        assert [(one["optionId"], one["kind"]) for one in more] == [
            ("portico:session", "allow_always"),
            ("portico:always", "allow_always"),
        ]
        assert [one["name"] for one in more] == [
            "Allow for this session: execute:pytest * (Portico)",
            "Always allow: execute:pytest * (Portico)",
        ]

    async def test_a_client_that_knows_portico_gets_the_scopes_and_no_option(
        self, approvals: FileApprovals
    ) -> None:
        async with broker(approvals, knows_portico=True) as scene:
            scene.ask(_meta={"own": 1})
            shown = (await scene.shown())["params"]
        assert shown["options"] == list(OPTIONS)
        scopes = {
            "scopes": ["once", "session", "always"],
            "rule": "execute:pytest *",
            "wider": "execute:*",
            "risks": [],
        }
        assert shown["_meta"] == {"own": 1, "portico": scopes}

    @pytest.mark.parametrize("options", [(ALWAYS, NO), (NO,), (), ({**NO, "optionId": "yes"}, ONCE)])
    async def test_without_a_clear_way_to_allow_once_there_are_no_scopes(
        self, approvals: FileApprovals, options: tuple[Json, ...]
    ) -> None:
        async with broker(approvals) as scene:
            scene.ask(options=options)
            assert (await scene.shown())["params"]["options"] == list(options)
        async with broker(approvals, knows_portico=True) as scene:
            scene.ask(options=options)
            told = (await scene.shown())["params"]["_meta"]["portico"]
        assert told == {"scopes": ["once"], "rule": None, "wider": None, "risks": []}

    async def test_options_that_are_called_like_ours_are_the_agents(self, approvals: FileApprovals) -> None:
        taken = (ONCE, {"optionId": "portico:always", "name": "Mine", "kind": "reject_once"})
        async with broker(approvals) as scene:
            scene.ask(options=taken)
            shown = await scene.shown()
            assert shown["params"]["options"] == list(taken)
            scene.to_agent(id=shown["id"], result=selected("portico:always"))
            assert await scene.chosen() == "portico:always"
        assert approvals.list() == ()

    @pytest.mark.parametrize("knows_portico", [True, False])
    async def test_the_question_is_one_that_the_protocol_allows(
        self, approvals: FileApprovals, knows_portico: bool
    ) -> None:
        checker = FrameChecker(SCHEMA)
        async with broker(approvals, knows_portico=knows_portico) as scene:
            scene.ask()
            line = await scene.ends.client.line()
            assert checker.check("received", line, "agent") == []
            scene.to_agent(id=json.loads(line)["id"], result=selected("yes"))
            assert await scene.chosen() == "yes"

    async def test_an_answer_reaches_the_agent_as_it_was_given(self, approvals: FileApprovals) -> None:
        async with broker(approvals) as scene:
            request_id = scene.ask()
            shown = await scene.shown()
            scene.to_agent(id=shown["id"], result=selected("forever", _meta={"theirs": [1]}))
            answer = await scene.answer()
        assert answer == {
            "jsonrpc": "2.0",
            "id": request_id,
            "result": selected("forever", _meta={"theirs": [1]}),
        }

    async def test_questions_are_independent(self, approvals: FileApprovals) -> None:
        async with broker(approvals) as scene:
            asked = [scene.ask(execute(f"tool{number}")) for number in range(3)]
            shown = [await scene.shown() for _ in asked]
            for place, option in ((2, "yes"), (0, "no"), (1, "forever")):
                scene.to_agent(id=shown[place]["id"], result=selected(option))
            answers = [await scene.answer() for _ in asked]
        given = {answer["id"]: answer["result"]["outcome"]["optionId"] for answer in answers}
        assert given == {asked[0]: "no", asked[1]: "forever", asked[2]: "yes"}

    async def test_a_second_request_under_an_id_in_use_is_neither_shown_nor_granted(
        self, approvals: FileApprovals
    ) -> None:
        async with broker(approvals) as scene:
            for command in ("one", "two"):
                scene.ask(execute(command), request_id=7)
            shown = await scene.shown()
            scene.to_agent(id=shown["id"], result=selected("yes"))
            assert await scene.chosen() == "yes"
        assert [fault.kind for _, fault in scene.ends.faults] == ["duplicate_id"]

    async def test_order_is_kept_between_updates_and_questions(self, approvals: FileApprovals) -> None:
        async with broker(approvals) as scene:
            for number in range(20):
                scene.to_client(method="session/update", params={"sessionId": SESSION, "n": number})
                scene.ask(execute(f"tool {number}"))
            methods = [(await scene.ends.client.receive())["method"] for _ in range(40)]
        assert methods == ["session/update", "session/request_permission"] * 20

    async def test_an_update_passes_byte_by_byte(self, approvals: FileApprovals) -> None:
        update = (
            b'{"method": "session/update", "jsonrpc":"2.0","params":{"sessionId":"s1", "update":'
            b'{"sessionUpdate":"tool_call","toolCallId":"c1","title":"x","rawInput":1.500}}}'
        )
        async with broker(approvals) as scene:
            scene.ends.agent.send(update)
            assert await scene.ends.client.line() == update


class TestDecidedBeforehand:
    async def test_a_denial_comes_before_everything_else(self, approvals: FileApprovals) -> None:
        rules = policy(allow=["all"], deny=["execute:pytest*"], bypass=True)
        async with broker(approvals, rules) as scene:
            scene.ask()
            assert await scene.chosen() == "no"
            await scene.nothing_more()

    async def test_an_allowance_answers_with_the_option_for_once(self, approvals: FileApprovals) -> None:
        async with broker(approvals, policy(allow=["execute:pytest*"])) as scene:
            scene.ask()
            assert await scene.chosen() == "yes"
            scene.ask(options=(ALWAYS, NO))
            assert (await scene.shown())["params"]["options"] == [ALWAYS, NO]

    async def test_a_rule_for_another_agent_says_nothing(self, approvals: FileApprovals) -> None:
        async with broker(approvals, policy(allow=["other-agent/execute"])) as scene:
            scene.ask()
            await scene.shown()
        async with broker(approvals, policy(allow=[f"{AGENT}/execute"])) as scene:
            scene.ask()
            assert await scene.chosen() == "yes"

    async def test_a_bypass_is_the_widest(self, approvals: FileApprovals) -> None:
        async with broker(approvals, policy(bypass=True)) as scene:
            scene.ask(execute("rm -rf build"))
            assert await scene.chosen() == "yes"

    @pytest.mark.parametrize(
        ("rules", "outcome", "option", "rule", "source"),
        [
            (policy(deny=["execute"]), "denied", "no", "execute", "deny_rule"),
            (policy(allow=["execute:pytest*"]), "allowed", "yes", "execute:pytest*", "allow_rule"),
            (policy(bypass=True), "allowed", "yes", None, "bypass"),
        ],
    )
    async def test_a_client_that_knows_portico_hears_of_it(
        self,
        approvals: FileApprovals,
        rules: PermissionPolicy,
        outcome: str,
        option: str,
        rule: str | None,
        source: str,
    ) -> None:
        async with broker(approvals, rules, knows_portico=True) as scene:
            scene.ask()
            told = await scene.told()
            assert await scene.chosen() == option
        assert told == {
            "sessionId": SESSION,
            "toolCall": PYTEST,
            "options": list(OPTIONS),
            "outcome": outcome,
            "optionId": option,
            "rule": rule,
            "source": source,
        }

    async def test_a_denial_without_an_option_to_reject_is_an_error(self, approvals: FileApprovals) -> None:
        async with broker(approvals, policy(deny=["all"]), knows_portico=True) as scene:
            scene.ask(options=(ONCE, ALWAYS))
            assert (await scene.told())["optionId"] is None
            assert "permission denied" in (await scene.answer())["error"]["message"]

    async def test_a_question_is_about_the_tool_call_that_was_told_before(
        self, approvals: FileApprovals
    ) -> None:
        async with broker(approvals, policy(allow=["all"], deny=["execute:rm*"])) as scene:
            call = {"sessionUpdate": "tool_call", **execute("rm -rf x")}
            scene.to_client(method="session/update", params={"sessionId": SESSION, "update": call})
            await scene.ends.client.receive()
            scene.ask({"toolCallId": "c1", "title": "Clean up"})
            assert await scene.chosen() == "no"
            done = {"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "completed"}
            scene.to_client(method="session/update", params={"sessionId": SESSION, "update": done})
            await scene.ends.client.receive()
            scene.ask({"toolCallId": "c1", "title": "Clean up"})
            assert await scene.chosen() == "yes"
