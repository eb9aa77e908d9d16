"""What a person, an agent and a client see of the permission broker."""

import json
from pathlib import Path

import pytest

from portico.conductor.approvals import FileApprovals
from portico.conductor.policy import Policy
from portico.conductor.proxies.permissions import PermissionBroker
from portico.testing import FrameChecker
from tests.acp.schema_examples import SCHEMA
from tests.conductor.permission_support import (
    AGENT,
    ALWAYS,
    CANCELLED,
    NO,
    ONCE,
    OPTIONS,
    PYTEST,
    SESSION,
    WORKSPACE,
    Json,
    Scene,
    approvals_in,
    broker,
    policy,
    selected,
)
from tests.conductor.support import chain


@pytest.fixture
def approvals(tmp_path: Path) -> FileApprovals:
    return approvals_in(tmp_path)


def execute(command: str, call_id: str = "c1") -> Json:
    return {"toolCallId": call_id, "title": command, "kind": "execute", "rawInput": {"command": command}}


def edit(*paths: str) -> Json:
    locations = [{"path": f"{WORKSPACE}/{path}"} for path in paths]
    return {"toolCallId": "e1", "title": "Edit", "kind": "edit", "locations": locations}


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
        scopes = {"scopes": ["once", "session", "always"], "rule": "execute:pytest *"}
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
        assert told == {"scopes": ["once"], "rule": None}

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

    async def test_two_requests_under_one_id_are_each_answered(self, approvals: FileApprovals) -> None:
        async with broker(approvals) as scene:
            for command in ("one", "two"):
                scene.ask(execute(command), request_id=7)
            for option in ("yes", "no"):
                shown = await scene.shown()
                scene.to_agent(id=shown["id"], result=selected(option))
            assert [await scene.chosen(), await scene.chosen()] == ["yes", "no"]

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
        rules: Policy,
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


class TestScopes:
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


class TestFailingClosed:
    @pytest.mark.parametrize(
        "answer",
        [
            {"error": {"code": -32603, "message": "no window"}},
            {"error": {"code": -32800, "message": "cancelled, but nobody asked for that"}},
            {"result": None},
            {"result": {}},
            {"result": []},
            {"result": "yes"},
            {"result": {"outcome": "selected", "optionId": "yes"}},
            {"result": {"outcome": {"outcome": "selected"}}},
            {"result": {"outcome": {"outcome": "allowed", "optionId": "yes"}}},
            {"result": selected("allow")},
            {"result": selected("Yes")},
            {"result": selected("")},
            {"result": selected("yes"), "error": {"code": 1, "message": "or not"}},
        ],
    )
    @pytest.mark.parametrize("knows_portico", [True, False])
    async def test_whatever_is_no_clear_yes_is_a_no(
        self, approvals: FileApprovals, answer: Json, knows_portico: bool
    ) -> None:
        async with broker(approvals, knows_portico=knows_portico) as scene:
            scene.ask()
            scene.to_agent(id=(await scene.shown())["id"], **answer)
            assert await scene.chosen() == "no"

    async def test_an_option_that_means_both_means_no(self, approvals: FileApprovals) -> None:
        both = (ONCE, {**NO, "optionId": "yes"}, NO)
        async with broker(approvals) as scene:
            scene.ask(options=both)
            scene.to_agent(id=(await scene.shown())["id"], result=selected("yes"))
            assert await scene.chosen() == "no"

    @pytest.mark.parametrize("option", ["portico:session", "portico:always"])
    async def test_our_options_mean_nothing_where_they_were_not_shown(
        self, approvals: FileApprovals, option: str
    ) -> None:
        async with broker(approvals, knows_portico=True) as scene:
            scene.ask()
            scene.to_agent(id=(await scene.shown())["id"], result=selected(option))
            assert await scene.chosen() == "no"
        async with broker(approvals) as scene:
            scene.ask(options=(ALWAYS, NO))
            scene.to_agent(id=(await scene.shown())["id"], result=selected(option))
            assert await scene.chosen() == "no"
        assert approvals.list() == ()

    async def test_a_second_answer_is_no_answer_of_any_request_of_the_agent(
        self, approvals: FileApprovals
    ) -> None:
        async with broker(approvals) as scene:
            request_id = scene.ask()
            shown = await scene.shown()
            scene.to_agent(id=shown["id"], result=selected("no"))
            scene.to_agent(id=shown["id"], result=selected("yes"))
            assert await scene.answer() == {"jsonrpc": "2.0", "id": request_id, "result": selected("no")}
            assert (await scene.answer())["id"] != request_id

    async def test_a_lost_client_is_a_denial(self, approvals: FileApprovals) -> None:
        async with broker(approvals) as scene:
            scene.ask()
            await scene.shown()
            await scene.ends.client.stream.close()
            assert await scene.chosen() == "no"
            with pytest.raises(EOFError):
                await scene.answer()

    async def test_a_client_that_is_lost_before_it_was_shown_the_question_is_a_denial(
        self, approvals: FileApprovals
    ) -> None:
        async with broker(approvals) as scene:
            scene.ask()
            scene.ask(options=(ONCE,))
            await scene.shown()
            await scene.ends.client.stream.close()
            answers = [await scene.answer(), await scene.answer()]
        assert sorted("error" in one for one in answers) == [False, True]
        assert selected("no") in [one.get("result") for one in answers]

    async def test_a_session_that_is_not_open_gets_no_permission(self, approvals: FileApprovals) -> None:
        async with broker(approvals, policy(bypass=True)) as scene:
            scene.ask(session_id="unknown")
            assert await scene.chosen() == "no"
            scene.ask(session_id="unknown", options=(ONCE,))
            assert "permission denied" in (await scene.answer())["error"]["message"]
            await scene.nothing_more()

    @pytest.mark.parametrize("ending", ["session/close", "session/delete"])
    async def test_a_session_that_ended_gets_none_either(self, approvals: FileApprovals, ending: str) -> None:
        async with broker(approvals) as scene:
            scene.ask()
            shown = await scene.shown()
            scene.to_agent(id=1, method=ending, params={"sessionId": SESSION})
            assert (await scene.answer())["method"] == ending
            scene.to_client(id=1, result={})
            assert await scene.chosen() == "no"
            withdrawn = await scene.ends.client.receive()
            assert withdrawn["params"] == {"requestId": shown["id"]}
            assert (await scene.ends.client.receive())["id"] == 1
            scene.ask()
            assert await scene.chosen() == "no"
            scene.to_agent(id=shown["id"], result=selected("yes"))
            await scene.nothing_more()

    async def test_a_session_that_could_not_be_closed_or_opened_stays_as_it_was(
        self, approvals: FileApprovals
    ) -> None:
        refused = {"code": -32603, "message": "no"}
        async with broker(approvals) as scene:
            for method, session_id in (("session/close", SESSION), ("session/load", "s9")):
                params = {"sessionId": session_id, "cwd": WORKSPACE, "mcpServers": []}
                scene.to_agent(id=1, method=method, params=params)
                await scene.answer()
                scene.to_client(id=1, error=refused)
                assert (await scene.ends.client.receive())["error"] == refused
            scene.ask()
            await scene.shown()
            scene.ask(session_id="s9")
            assert await scene.chosen() == "no"

    @pytest.mark.parametrize("method", ["session/load", "session/resume"])
    async def test_a_session_that_was_opened_again_is_asked_about(
        self, approvals: FileApprovals, method: str
    ) -> None:
        async with broker(approvals) as scene:
            await scene.call(method, {"sessionId": "old", "cwd": WORKSPACE, "mcpServers": []}, {})
            scene.ask(session_id="old")
            await scene.shown()

    async def test_a_child_session_works_under_the_rules_of_its_parent(
        self, approvals: FileApprovals
    ) -> None:
        async with broker(approvals, policy(allow=["edit:src/**"])) as scene:
            child = {"sessionUpdate": "subagent_update", "sessionId": "child", "cwd": "/etc"}
            scene.to_client(method="session/update", params={"sessionId": SESSION, "update": child})
            await scene.ends.client.receive()
            scene.ask(edit("src/a.py"), session_id="child")
            assert await scene.chosen() == "yes"
            await scene.call("session/close", {"sessionId": SESSION}, {})
            scene.ask(edit("src/a.py"), session_id="child")
            assert await scene.chosen() == "no"

    @pytest.mark.parametrize(
        "params",
        [{}, {"sessionId": SESSION}, {"sessionId": SESSION, "toolCall": PYTEST, "options": [{}]}, []],
    )
    async def test_a_request_that_makes_no_sense_is_refused(
        self, approvals: FileApprovals, params: object
    ) -> None:
        async with broker(approvals, policy(bypass=True)) as scene:
            scene.to_client(id=1, method="session/request_permission", params=params)
            assert (await scene.answer())["error"]["code"] == -32602

    async def test_approvals_that_fail_grant_nothing(self, caplog: pytest.LogCaptureFixture) -> None:
        class Failing(FileApprovals):
            def use(self, deed: object) -> None:
                raise RuntimeError("out of order")

        async with broker(Failing(Path("/nowhere"), int), policy(allow=["all"])) as scene:
            scene.ask()
            assert "permissions" in (await scene.answer())["error"]["message"]
        assert "out of order" in caplog.text


class TestStopping:
    async def test_a_turn_that_is_stopped_passes_on_that_it_is(self, approvals: FileApprovals) -> None:
        async with broker(approvals) as scene:
            request_id = scene.ask()
            shown = await scene.shown()
            scene.to_agent(method="session/cancel", params={"sessionId": SESSION})
            scene.to_agent(id=shown["id"], result=CANCELLED)
            assert (await scene.answer())["method"] == "session/cancel"
            assert await scene.answer() == {"jsonrpc": "2.0", "id": request_id, "result": CANCELLED}

    async def test_a_question_that_the_agent_takes_back_is_taken_back_from_the_client(
        self, approvals: FileApprovals
    ) -> None:
        cancelled = {"code": -32800, "message": "the request was cancelled"}
        async with broker(approvals) as scene:
            request_id = scene.ask()
            shown = await scene.shown()
            scene.to_client(method="$/cancel_request", params={"requestId": request_id})
            assert (await scene.ends.client.receive())["params"] == {"requestId": shown["id"]}
            scene.to_agent(id=shown["id"], error=cancelled)
            assert (await scene.answer())["error"] == cancelled

    async def test_taking_back_another_request_is_passed_on(self, approvals: FileApprovals) -> None:
        async with broker(approvals) as scene:
            scene.ask()
            await scene.shown()
            line = b'{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"another"}}'
            scene.ends.agent.send(line)
            assert await scene.ends.client.line() == line


async def test_the_broker_that_stands_nearer_to_the_client_remembers(tmp_path: Path) -> None:
    outer, inner = approvals_in(tmp_path / "outer"), approvals_in(tmp_path / "inner")
    brokers = [PermissionBroker(agent=AGENT, policy=Policy(), approvals=kept) for kept in (outer, inner)]
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
