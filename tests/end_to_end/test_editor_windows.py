"""Editor windows at a real server: a session sees what the person sees, wherever it was begun, and survives the window."""

import asyncio
import json
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from connectrpc.code import Code
from connectrpc.errors import ConnectError

from portico.api.v1 import agent_pb as pb
from portico.api.v1 import events_pb
from tests.end_to_end.test_service import Caller, kind_of, steps, words
from tests.support.program import Portico
from tests.support.serving import Server, detach, stopped
from tests.support.window import DEADLINE, ScriptedWindow, attached_window

EDITOR_KINDS = ("editor_requested", "editor_replied")


@pytest.fixture
def server(portico: Portico) -> Iterator[Server]:
    command = shlex.split(portico.agent)
    portico.settings({"agents": {"scripted": {"command": command[0], "args": command[1:]}}})
    (portico.workspace / "notes.txt").write_text("saved\n")
    (portico.workspace / "main.py").write_text("def main():\n    return 1\n\n\nmain()\n")
    found = Server(portico)
    detach(portico)
    yield found
    found.end()


def told(events: list[events_pb.Event], kind: str) -> list[Any]:
    return [event.payload.value for event in events if event.payload is not None and kind_of(event) == kind]


def looks_up(findings: pb.EditorFindings) -> Callable[[pb.EditorRequest], Any]:
    async def answer(asked: pb.EditorRequest) -> tuple[str, Any] | None:
        assert asked.request is not None
        assert asked.request.field == "lookup"
        return "findings", findings

    return answer


class TestBuffers:
    async def test_an_agent_reads_and_changes_what_the_person_has_not_saved(
        self, portico: Portico, server: Server
    ) -> None:
        notes = portico.workspace / "notes.txt"
        async with asyncio.timeout(DEADLINE), attached_window(server, portico.workspace) as window:
            await window.type(notes, "typed\nby me\n")
            caller = Caller(server)
            await caller.start()
            events = await caller.turn(
                steps(
                    {"read": {"path": "notes.txt"}},
                    {"read": {"path": "notes.txt", "line": 2, "limit": 1}},
                    {"write": {"path": "notes.txt", "content": "agent\n"}},
                    {"write": {"path": "other.txt", "content": "new\n"}},
                    {"read": {"path": "notes.txt"}},
                )
            )
            assert words(events) == "typed\nby me\nby me\nwrote notes.txtwrote other.txtagent\n"
            assert window.buffers == {str(notes): "agent\n"}
            assert notes.read_text() == "saved\n"
            assert (portico.workspace / "other.txt").read_text() == "new\n"
            asked, replied = (told(events, kind) for kind in EDITOR_KINDS)
            assert [one.title for one in asked] == [
                "Read the unsaved text of notes.txt",
                "Read the unsaved text of notes.txt",
                "Portico: change notes.txt",
                "Read the unsaved text of notes.txt",
            ]
            assert {(one.editor, tuple(one.paths)) for one in asked} == {("VS Code", (str(notes),))}
            assert [(one.request_id, one.done) for one in replied] == [
                (one.request_id, True) for one in asked
            ]
            # Saved a moment ago, before the window could say so.
            window.buffers.clear()
            assert words(await caller.turn(steps({"read": {"path": "notes.txt"}}))) == "saved\n"

    async def test_a_session_begun_in_a_terminal_sees_the_window_too(
        self, portico: Portico, server: Server
    ) -> None:
        async with asyncio.timeout(DEADLINE), attached_window(server, portico.workspace) as window:
            caller = Caller(server)
            await caller.start()
            await window.type(portico.workspace / "notes.txt", "typed\n")
            prompt = steps({"read": {"path": "notes.txt"}})
            ran = await asyncio.to_thread(
                portico.run, "exec", "--json-stream", "--session", caller.session_id, prompt
            )
            assert ran.code == 0, ran.err
            lines = [json.loads(line) for line in ran.text.splitlines()]
            assert "typed\n" in [line["payload"].get("text") for line in lines]
            kinds = [line["type"] for line in lines]
            assert kinds.index("editor_requested") < kinds.index("editor_replied")

    async def test_a_window_lost_in_the_middle_costs_a_notice_and_never_a_file(
        self, portico: Portico, server: Server
    ) -> None:
        notes = portico.workspace / "notes.txt"

        async def silence(asked: pb.EditorRequest) -> None:
            return None

        async with asyncio.timeout(DEADLINE):
            caller = Caller(server)
            async with attached_window(server, portico.workspace) as window:
                await window.type(notes, "typed\n")
                await caller.start()
                await caller.turn(steps({"read": {"path": "notes.txt"}}))
                window.answers = silence
                reading = asyncio.create_task(caller.turn(steps({"read": {"path": "notes.txt"}})))
                await window.until(lambda: len(window.asked) == 2)
            events = await reading
            assert words(events) == "saved\n"
            (notice,) = told(events, "notice")
            assert notice.text.startswith("The agent read notes.txt as it is on the disk")
            (replied,) = told(events, "editor_replied")
            assert (replied.done, replied.message) == (
                False,
                "The VS Code window was closed before it answered.",
            )
            async with attached_window(server, portico.workspace) as window:
                await window.type(notes, "typed\n")
                window.answers = silence
                writing = asyncio.create_task(
                    caller.turn(steps({"write": {"path": "notes.txt", "content": "agent\n"}}))
                )
                await window.until(lambda: len(window.asked) == 1)
            events = await writing
            assert "did not confirm whether it was changed" in words(events)
            assert notes.read_text() == "saved\n"

    async def test_unsaved_work_that_changed_since_it_was_read_is_left_alone(
        self, portico: Portico, server: Server
    ) -> None:
        notes, go = portico.workspace / "notes.txt", portico.workspace / "go"
        async with asyncio.timeout(DEADLINE), attached_window(server, portico.workspace) as window:
            await window.type(notes, "typed\n")
            caller = Caller(server)
            await caller.start()
            turn = asyncio.create_task(
                caller.turn(
                    steps(
                        {"read": {"path": "notes.txt"}},
                        {"wait_file": str(go)},
                        {"write": {"path": "notes.txt", "content": "agent\n"}},
                    )
                )
            )
            await caller.events_until("editor_replied")
            await window.type(notes, "typed more\n")
            go.touch()
            events = await turn
            assert "was changed in VS Code since you read it" in words(events)
            assert window.buffers[str(notes)] == "typed more\n"
            assert told(events, "editor_replied")[-1].message == "Changed meanwhile: notes.txt."

    async def test_a_proposal_is_made_to_what_the_person_sees_and_applied_where_they_see_it(
        self, portico: Portico, server: Server
    ) -> None:
        notes = portico.workspace / "notes.txt"
        async with asyncio.timeout(DEADLINE), attached_window(server, portico.workspace) as window:
            await window.type(notes, "typed\n")
            caller = Caller(server)
            request = pb.StartSessionRequest(agent="scripted", mode=pb.ReviewMode.PROPOSAL)
            started = await caller.service.start_session(request, headers=caller.headers)
            assert started.session is not None
            assert started.session.summary is not None
            caller.session_id = started.session.summary.session_id
            events = await caller.turn(
                steps(
                    {"read": {"path": "notes.txt"}},
                    {"write": {"path": "notes.txt", "content": "typed\nagent\n"}},
                    {"read": {"path": "notes.txt"}},
                )
            )
            assert words(events) == "typed\nwrote notes.txttyped\nagent\n"
            proposal = told(events, "proposal_updated")[-1]
            assert [(one.path, one.added, one.removed) for one in proposal.files] == [("notes.txt", 1, 0)]
            assert window.buffers == {str(notes): "typed\n"}
            seen = events[-1].seq
            apply = pb.ApplyProposalRequest(
                session_id=caller.session_id, proposal_id=proposal.proposal_id, revision=proposal.revision
            )
            await caller.service.apply_proposal(apply, headers=caller.headers)
            assert window.buffers == {str(notes): "typed\nagent\n"}
            assert notes.read_text() == "saved\n"
            after = await caller.events_until("proposal_updated", after_seq=seen)
            assert "notes.txt" in told(after, "editor_requested")[-1].title


class TestTwoWindows:
    async def test_the_one_that_the_person_uses_is_asked(self, portico: Portico, server: Server) -> None:
        notes = portico.workspace / "notes.txt"
        async with (
            asyncio.timeout(DEADLINE),
            attached_window(server, portico.workspace, name="left") as left,
            attached_window(server, portico.workspace, name="right") as right,
        ):
            await left.type(notes, "left\n", focused=True)
            await right.type(notes, "right\n", focused=False)
            caller = Caller(server)
            await caller.start()
            assert words(await caller.turn(steps({"read": {"path": "notes.txt"}}))) == "left\n"
            await left.update_status(focused=False)
            await right.update_status(focused=True)
            assert words(await caller.turn(steps({"read": {"path": "notes.txt"}}))) == "right\n"

    async def test_a_window_on_another_folder_is_nobodys_business(
        self, portico: Portico, server: Server, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        async with (
            asyncio.timeout(DEADLINE),
            attached_window(server, tmp_path_factory.mktemp("elsewhere")) as window,
        ):
            await window.type(portico.workspace / "notes.txt", "typed\n")
            caller = Caller(server)
            await caller.start()
            tool = {"server": "portico-code", "name": "problems"}
            events = await caller.turn(steps({"read": {"path": "notes.txt"}}, {"use_tool": tool}))
            assert words(events) == "saved\nthere is no server portico-code"
            assert window.asked == []


class TestTools:
    async def test_an_agent_asks_the_editor_about_code(self, portico: Portico, server: Server) -> None:
        main = str(portico.workspace / "main.py")
        place = pb.FoundPlace(path=main, line=0, column=4, name="main", text="def main():")
        problem = pb.FoundProblem(
            path=main, line=1, column=4, severity=pb.ProblemSeverity.WARNING, message="Unused", source="lint"
        )
        async with asyncio.timeout(DEADLINE), attached_window(server, portico.workspace) as window:
            window.answers = looks_up(
                pb.EditorFindings(places=[place], problems=[problem], words="A *main*.")
            )
            caller = Caller(server)
            await caller.start()

            async def use(name: str, **arguments: object) -> str:
                tool = {"server": "portico-code", "name": name, "arguments": arguments}
                return words(await caller.turn(steps({"use_tool": tool})))

            name = {"path": "main.py", "line": 5, "symbol": "main"}
            assert await use("definition", **name) == "main.py:1:5  main  def main():"
            assert await use("references", **name) == "main.py:1:5  main  def main():"
            assert await use("hover", **name) == "A *main*."
            assert await use("symbols", query="mai") == "main.py:1:5  main  def main():"
            assert await use("problems") == "main.py:2:5  warning [lint]  Unused"
            asked = [one.request.value for one in window.asked if one.request is not None]
            assert [one.kind.name for one in asked if isinstance(one, pb.EditorLookup)] == [
                "DEFINITION",
                "REFERENCES",
                "HOVER",
                "SYMBOLS",
                "DIAGNOSTICS",
            ]
            first = asked[0]
            assert isinstance(first, pb.EditorLookup)
            assert (first.path, first.line, first.column) == (main, 4, 0)

    async def test_a_command_reaches_the_terminal_only_when_the_person_agrees(
        self, portico: Portico, server: Server
    ) -> None:
        async def dispatch(asked: pb.EditorRequest) -> tuple[str, Any]:
            return "command", pb.CommandDispatched(sent=True, terminal="zsh 2")

        async with asyncio.timeout(DEADLINE), attached_window(server, portico.workspace) as window:
            window.answers = dispatch
            caller = Caller(server)
            await caller.start()
            tool = {
                "server": "portico-code",
                "name": "run_in_terminal",
                "arguments": {"command": "npm login"},
            }
            for option, heard in (("leave", "did not agree"), ("run", "terminal “zsh 2”")):
                seen = (await caller.events_until("session_started"))[-1].seq
                turn = asyncio.create_task(caller.turn(steps({"use_tool": tool})))
                question = await self._question(caller, seen, answered=option == "run")
                assert question.title == "Run in your terminal: npm login"
                assert window.asked == []
                decision = pb.PermissionDecision(request_id=question.request_id, option_id=option)
                await caller.submit("permission_decisions", pb.PermissionDecisions(decisions=[decision]))
                assert heard in words(await turn)
            (asked,) = window.asked
            assert asked.request is not None
            command = asked.request.value
            assert isinstance(command, pb.DispatchCommand)
            assert (command.command, command.cwd) == ("npm login", str(portico.workspace))

    async def _question(
        self, caller: Caller, after_seq: int, *, answered: bool
    ) -> events_pb.PermissionRequested:
        """The question that is open now: the second one, if one was answered before."""
        found: list[Any] = []
        while len(found) < (2 if answered else 1):
            events = await caller.events_until("permission_requested", after_seq=after_seq)
            found += told(events, "permission_requested")
            after_seq = events[-1].seq
        question = found[-1]
        assert isinstance(question, events_pb.PermissionRequested)
        return question


class TestBadWindows:
    async def test_wrong_answers_are_refused_and_harm_nobody(self, portico: Portico, server: Server) -> None:
        notes = portico.workspace / "notes.txt"

        async def silence(asked: pb.EditorRequest) -> None:
            return None

        async with asyncio.timeout(DEADLINE), attached_window(server, portico.workspace) as window:
            await window.type(notes, "typed\n")
            window.answers = silence
            caller = Caller(server)
            await caller.start()
            turn = asyncio.create_task(caller.turn(steps({"read": {"path": "notes.txt"}})))
            await window.until(lambda: len(window.asked) == 1)
            request_id = window.asked[0].request_id
            for name, field, value in (
                ("made-up", "buffer", pb.BufferText(text="forged")),
                (request_id, "edits", pb.EditsApplied(applied=True)),
                (request_id, "findings", pb.EditorFindings()),
            ):
                await refused(window, name, field, value)
            with pytest.raises(ConnectError) as empty:
                await window.submit("editor_reply", pb.EditorReply(request_id=request_id))
            assert empty.value.code is Code.INVALID_ARGUMENT
            await window.reply(request_id, "buffer", pb.BufferText(text="right\n"))
            assert words(await turn) == "right\n"
            await refused(window, request_id, "buffer", pb.BufferText(text="again"))
            for folders in ([], [Path("relative")]):
                with pytest.raises(ConnectError) as wrong:
                    async with attached_window(server, *folders):
                        raise AssertionError("it was attached")
                assert wrong.value.code is Code.INVALID_ARGUMENT
            with pytest.raises(ConnectError) as unknown:
                await window.submit("editor_state", pb.EditorState(editor_id="made-up", focused=True))
            assert unknown.value.code is Code.INVALID_ARGUMENT

    async def test_a_stopped_turn_takes_back_what_it_asked(self, portico: Portico, server: Server) -> None:
        async def silence(asked: pb.EditorRequest) -> None:
            return None

        async with asyncio.timeout(DEADLINE), attached_window(server, portico.workspace) as window:
            window.answers = silence
            caller = Caller(server)
            await caller.start()
            tool = {"server": "portico-code", "name": "problems"}
            turn = asyncio.create_task(caller.turn(steps({"use_tool": tool})))
            await window.until(lambda: len(window.asked) == 1)
            await caller.service.stop_turn(
                pb.StopTurnRequest(session_id=caller.session_id), headers=caller.headers
            )
            events = await turn
            assert told(events, "turn_ended")[0].state is events_pb.TurnState.CANCELED
            await window.until(lambda: window.cancelled == [window.asked[0].request_id])

    async def test_a_flood_of_requests_leaves_the_server_and_the_window_well(
        self, portico: Portico, server: Server
    ) -> None:
        for number in range(100):
            (portico.workspace / f"{number}.txt").write_text("saved\n")
        async with asyncio.timeout(DEADLINE), attached_window(server, portico.workspace) as window:
            for number in range(100):
                window.buffers[str(portico.workspace / f"{number}.txt")] = f"typed {number}\n"
            await window.update_status(focused=True)
            caller = Caller(server)
            await caller.start()
            reads = [
                {
                    "request": {
                        "method": "fs/read_text_file",
                        "params": {
                            "sessionId": "$session",
                            "path": str(portico.workspace / f"{number}.txt"),
                        },
                        "wait": False,
                    }
                }
                for number in range(100)
            ]
            events = await caller.turn(steps(*reads, {"read": {"path": "7.txt"}}))
            assert words(events).startswith(("typed 7", "saved"))
            assert words(await caller.turn(steps({"read": {"path": "8.txt"}}))) == "typed 8\n"

    async def test_the_stream_of_a_window_ends_with_the_server(
        self, portico: Portico, server: Server
    ) -> None:
        request = {"name": "x", "folders": [str(portico.workspace)]}
        stream = server.stream("AttachEditor", request)
        first = stream.next()
        assert first is not None
        assert first["attached"]["editorId"]
        await asyncio.to_thread(stopped, portico)
        assert stream.end() == {}


async def refused(window: ScriptedWindow, request_id: str, field: str, value: Any) -> None:
    with pytest.raises(ConnectError) as wrong:
        await window.reply(request_id, field, value)
    assert wrong.value.code is Code.INVALID_ARGUMENT
    assert wrong.value.message
