"""Outcome of a question when something goes wrong on the way to a clear yes."""

from pathlib import Path

import pytest

from portico.conductor.permissions.approvals import FileApprovals
from tests.conductor.permission_support import (
    ALWAYS,
    CANCELLED,
    NO,
    ONCE,
    PYTEST,
    SESSION,
    WORKSPACE,
    Json,
    approvals_in,
    broker,
    edit,
    policy,
    selected,
)


@pytest.fixture
def approvals(tmp_path: Path) -> FileApprovals:
    return approvals_in(tmp_path)


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
            scene.to_agent(method="_next", params={})
            assert (await scene.answer())["method"] == "_next"

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

    @pytest.mark.parametrize("knows_portico", [False, True])
    async def test_what_is_asked_in_a_turn_that_is_stopped_is_over_whatever_the_client_says_or_not(
        self, approvals: FileApprovals, knows_portico: bool
    ) -> None:
        async with broker(approvals, knows_portico=knows_portico) as scene:
            await scene.open("other")
            request_id, another = scene.ask(), scene.ask(session_id="other")
            shown, elsewhere = await scene.shown(), await scene.shown()
            scene.to_agent(method="session/cancel", params={"sessionId": SESSION})
            assert (await scene.answer())["method"] == "session/cancel"
            assert await scene.answer() == {"jsonrpc": "2.0", "id": request_id, "result": CANCELLED}
            scene.to_agent(id=shown["id"], result=selected("yes"))
            scene.to_agent(id=elsewhere["id"], result=selected("yes"))
            assert (await scene.answer())["id"] == another

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


READING = ("fs/read_text_file", {"path": f"{WORKSPACE}/keys/a.txt"})
WRITING = ("fs/write_text_file", {"path": f"{WORKSPACE}/src/../keys/a.txt", "content": "x"})
RUNNING = ("terminal/create", {"command": "curl", "args": ["-T", "a.txt"]})


class TestWhatTheClientIsToDo:
    """An agent need not ask for leave to have its client read, write or run; a denial holds all the same."""

    @pytest.mark.parametrize(
        ("errand", "rule"),
        [(READING, "read:keys/**"), (WRITING, "edit:keys"), (RUNNING, "execute:curl *"), (WRITING, "all")],
    )
    async def test_is_not_done_if_it_is_denied_and_the_client_hears_of_it(
        self, tmp_path: Path, errand: tuple[str, Json], rule: str
    ) -> None:
        method, params = errand
        async with broker(approvals_in(tmp_path), policy(deny=[rule]), knows_portico=True) as scene:
            scene.to_client(id=7, method=method, params={"sessionId": SESSION, **params})
            told = await scene.told()
            assert (told["outcome"], told["rule"], told["optionId"]) == ("denied", rule, None)
            refused = await scene.answer()
            assert (refused["id"], rule in refused["error"]["message"]) == (7, True)
            await scene.nothing_more()

    @pytest.mark.parametrize("errand", [READING, WRITING, RUNNING])
    async def test_an_editor_that_knows_no_portico_hears_nothing_of_it(
        self, tmp_path: Path, errand: tuple[str, Json]
    ) -> None:
        method, params = errand
        async with broker(approvals_in(tmp_path), policy(deny=["all"])) as scene:
            scene.to_client(id=7, method=method, params={"sessionId": SESSION, **params})
            assert "denied by the rule all" in (await scene.answer())["error"]["message"]
            await scene.nothing_more()

    @pytest.mark.parametrize("errand", [READING, WRITING, RUNNING])
    @pytest.mark.parametrize("rules", [[], ["edit:other/**", "read:other/**", "execute:rm *"]])
    async def test_passes_if_nothing_denies_it(
        self, tmp_path: Path, errand: tuple[str, Json], rules: list[str]
    ) -> None:
        method, params = errand
        async with broker(approvals_in(tmp_path), policy(deny=rules), knows_portico=True) as scene:
            scene.to_client(id=7, method=method, params={"sessionId": SESSION, **params})
            assert (await scene.ends.client.receive())["params"] == {"sessionId": SESSION, **params}
            scene.to_agent(id=7, result={})
            assert (await scene.answer())["result"] == {}
            await scene.nothing_more()

    @pytest.mark.parametrize("params", [{}, {"path": 7}, []])
    async def test_is_the_clients_to_refuse_if_it_makes_no_sense(
        self, tmp_path: Path, params: object
    ) -> None:
        async with broker(approvals_in(tmp_path), policy(deny=["all"]), knows_portico=True) as scene:
            scene.to_client(id=7, method="fs/read_text_file", params=params)
            assert (await scene.ends.client.receive())["params"] == params
