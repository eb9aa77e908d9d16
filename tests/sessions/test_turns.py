"""A turn as a person sees it: what the log holds, in which order, and how each turn ends."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec import Raw

from portico.acp import _schema as acp
from portico.domain.errors import ErrorCode, InvalidInput, SessionBusy, StoreFailed
from portico.domain.events import (
    ErrorReported,
    Event,
    Notice,
    PermissionRequested,
    PermissionResolved,
    PromptSubmitted,
    StateChanged,
    TextDelta,
    ToolCompleted,
    ToolStarted,
    TurnEnded,
)
from portico.domain.turns import TurnState
from portico.rpc.messages import RpcError
from portico.sessions.log.journal import RETRY_SECONDS
from portico.sessions.requests.permissions import PermissionReply
from portico.sessions.turn import TurnPrompt
from tests.sessions.support import LIMITS, SPEC, FakeAgent, kinds, states, text, world
from tests.support.looping import until


async def echo(agent: FakeAgent, request: acp.PromptRequest) -> None:
    agent.say("hi")


async def wait_forever(agent: FakeAgent, request: acp.PromptRequest) -> None:
    agent.say("…")
    await asyncio.Event().wait()


async def stop_when_told(agent: FakeAgent, request: acp.PromptRequest) -> acp.PromptResponse:
    agent.say("working")
    await agent.canceled.wait()
    return acp.PromptResponse(stop_reason="cancelled")


def permission(*options: tuple[str, acp.PermissionOptionKind]) -> acp.RequestPermissionRequest:
    return acp.RequestPermissionRequest(
        session_id="a1",
        tool_call=acp.ToolCallUpdate(tool_call_id="c1", title="rm -r build", kind="execute"),
        options=[acp.PermissionOption(option_id=name, name=name, kind=kind) for name, kind in options],
    )


async def test_a_first_turn_starts_the_agent_streams_and_completes(tmp_path: Path) -> None:
    async with world(echo, tmp_path) as host:
        turn = await host.prompt("hello")
        log = await host.events()
    assert kinds(turn) == [
        "prompt_submitted",
        "state_changed",
        "state_changed",
        "state_changed",
        "text_delta",
        "turn_ended",
        "state_changed",
    ]
    assert states(turn) == ["starting", "running", "streaming", "completed"]
    assert [event.seq for event in log] == list(range(1, len(log) + 1))
    assert log[0].kind == "session_started"
    assert {event.turn_id for event in turn} == {"t1"}
    assert isinstance(turn[-2].payload, TurnEnded)
    assert turn[-2].payload.stop_reason == "end_turn"


async def test_a_second_turn_runs_at_once_in_the_same_agent(tmp_path: Path) -> None:
    async with world(echo, tmp_path) as host:
        await host.prompt("one")
        turn = await host.prompt("two")
        assert len(host.agents.launched) == 1
    assert states(turn) == ["running", "streaming", "completed"]
    assert turn[0].turn_id == "t2"


async def test_a_turn_with_tools_and_no_text_completes(tmp_path: Path) -> None:
    async def use_a_tool(agent: FakeAgent, request: acp.PromptRequest) -> None:
        agent.update(acp.ToolCall(tool_call_id="c1", title="Read a.py", kind="read"))
        agent.update(acp.ToolCallProgress(tool_call_id="c1", status="completed"))

    async with world(use_a_tool, tmp_path) as host:
        turn = await host.prompt()
    started, completed = turn[3].payload, turn[4].payload
    assert isinstance(started, ToolStarted)
    assert (started.title, started.tool_kind) == ("Read a.py", "read")
    assert isinstance(completed, ToolCompleted)
    assert completed.success
    assert states(turn) == ["starting", "running", "completed"]


async def test_an_empty_prompt_is_refused_and_leaves_no_trace(tmp_path: Path) -> None:
    async with world(echo, tmp_path) as host:
        await host.start()
        with pytest.raises(InvalidInput, match="empty"):
            await host.service.session(host.session_id).prompt(TurnPrompt(text=" \n"))
        assert kinds(await host.events()) == ["session_started"]


async def test_an_update_that_nobody_knows_becomes_a_notice_that_carries_it(tmp_path: Path) -> None:
    async def strange(agent: FakeAgent, request: acp.PromptRequest) -> None:
        update = b'{"sessionUpdate":"hologram","depth":3}'
        agent.write_raw(
            b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"a1","update":'
            + update
            + b"}}"
        )

    async with world(strange, tmp_path) as host:
        turn = await host.prompt()
    notice = next(event.payload for event in turn if isinstance(event.payload, Notice))
    assert "hologram" in notice.text
    assert isinstance(notice.raw, Raw)
    assert bytes(notice.raw) == b'{"sessionUpdate":"hologram","depth":3}'


async def test_malformed_lines_are_told_and_counted_and_the_turn_goes_on(tmp_path: Path) -> None:
    async def babble(agent: FakeAgent, request: acp.PromptRequest) -> None:
        for _ in range(50):
            agent.write_raw(b"Welcome to the agent!")
        agent.say("done")

    async with world(babble, tmp_path) as host:
        turn = await host.prompt()
    notices = [event.payload for event in turn if isinstance(event.payload, Notice)]
    assert len(notices) == 21
    assert sum(notice.count for notice in notices) == 50
    assert "Welcome to the agent!" in notices[0].text
    assert states(turn)[-1] == "completed"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (rb"cut \ud83d here", "cut \ufffd here"),
        (rb"at the end \uD83D", "at the end \ufffd"),
        (rb"\ude00 at the beginning", "\ufffd at the beginning"),
        (rb"\ude00\ud83d\ude00\ud83d", "\ufffd\U0001f600\ufffd"),
        (rb"a path \\\ud83d and \\ud83d", "a path \\\ufffd and \\ud83d"),
    ],
)
async def test_half_of_a_character_costs_no_more_than_itself(tmp_path: Path, said: bytes, shown: str) -> None:
    async def cut(agent: FakeAgent, request: acp.PromptRequest) -> None:
        agent.write_raw(
            b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"a1","update":'
            b'{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%b"}}}}' % said
        )

    async with world(cut, tmp_path) as host:
        turn = await host.prompt()
    assert [event.payload.text for event in turn if isinstance(event.payload, TextDelta)] == [shown]
    assert [event.payload for event in turn if isinstance(event.payload, Notice)] == []


async def test_updates_sent_before_the_session_is_answered_are_kept_in_order(tmp_path: Path) -> None:
    async def early() -> None:
        for number in range(3):
            host.agent.write_raw(
                b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"a1","update":'
                b'{"sessionUpdate":"session_info_update","title":"title %d"}}}' % number
            )

    async with world(echo, tmp_path) as host:
        host.agent.on_new = early
        turn = await host.prompt()
    titles = [event.payload.title for event in turn if event.kind == "title_updated"]  # type: ignore[union-attr]
    assert titles == ["title 0", "title 1", "title 2"]
    assert kinds(turn).index("title_updated") < kinds(turn).index("text_delta")


@pytest.mark.parametrize("error_code", [-32603, -32000])
async def test_an_agent_that_answers_with_an_error_fails_the_turn_and_says_why(
    tmp_path: Path, error_code: int
) -> None:
    async def refuse(agent: FakeAgent, request: acp.PromptRequest) -> None:
        raise RpcError(error_code, "the model is asleep")

    async with world(refuse, tmp_path) as host:
        turn = await host.prompt()
    error = next(event.payload for event in turn if isinstance(event.payload, ErrorReported))
    assert error.code is (ErrorCode.AUTH_REQUIRED if error_code == -32000 else ErrorCode.INTERNAL)
    assert "the model is asleep" in error.message
    assert error.details.suggestion
    assert states(turn)[-1] == "failed"


async def test_after_a_failed_turn_the_next_one_works(tmp_path: Path) -> None:
    async def refuse_once(agent: FakeAgent, request: acp.PromptRequest) -> None:
        if len(agent.prompts) == 1:
            raise RpcError(-32603, "no")
        agent.say("yes")

    async with world(refuse_once, tmp_path) as host:
        await host.prompt()
        assert states(await host.prompt())[-1] == "completed"


class TestStopping:
    async def test_a_stop_while_streaming_tells_the_agent_and_cancels_the_turn(self, tmp_path: Path) -> None:
        async with world(stop_when_told, tmp_path) as host:
            await host.start()
            turn = host.prompting()
            await host.until_state(TurnState.STREAMING)
            assert host.service.session(host.session_id).stop()
            ended = await turn
            assert isinstance(ended, TurnEnded)
            assert (ended.state, ended.stop_reason) == (TurnState.CANCELED, "cancelled")
            assert host.agents.launched[0].stopped_with_grace is None

    async def test_an_agent_that_ignores_the_stop_is_ended_after_the_grace_time(self, tmp_path: Path) -> None:
        async with world(wait_forever, tmp_path) as host:
            await host.start()
            turn = host.prompting()
            await host.until_state(TurnState.STREAMING)
            host.service.session(host.session_id).stop()
            await host.clock.advance(4.9)
            assert not turn.done()
            await host.clock.advance(0.2)
            assert (await host.until_state(TurnState.CANCELED)).kind == "state_changed"
            await turn
            assert host.agents.launched[0].stopped_with_grace == 0

    async def test_a_second_stop_ends_the_agent_at_once(self, tmp_path: Path) -> None:
        async with world(wait_forever, tmp_path) as host:
            await host.start()
            turn = host.prompting()
            await host.until_state(TurnState.STREAMING)
            host.service.session(host.session_id).stop()
            host.service.session(host.session_id).stop(force=True)
            async with asyncio.timeout(5):
                await turn
            assert host.agents.launched[0].stopped_with_grace == 0

    async def test_a_stop_while_the_agent_starts_cancels_the_turn_and_ends_the_agent(
        self, tmp_path: Path
    ) -> None:
        async with world(echo, tmp_path) as host:
            host.agent.initialize_gate = asyncio.Event()
            await host.start()
            turn = host.prompting()
            await host.until_state(TurnState.STARTING)
            host.service.session(host.session_id).stop()
            async with asyncio.timeout(5):
                ended = await turn
            assert isinstance(ended, TurnEnded)
            assert ended.state is TurnState.CANCELED

    async def test_a_turn_whose_door_goes_away_is_interrupted_and_the_next_one_works(
        self, tmp_path: Path
    ) -> None:
        async with world(stop_when_told, tmp_path) as host:
            await host.start()
            turn = host.prompting()
            await host.until_state(TurnState.STREAMING)
            turn.cancel()
            with pytest.raises(asyncio.CancelledError):
                await turn
            assert kinds(await host.events())[-2:] == ["turn_ended", "state_changed"]
            assert states(await host.events())[-1] == "interrupted"
            assert host.agents.launched[0].stopped_with_grace == LIMITS.stop_grace
            again = host.prompting("again")
            await host.until(lambda payload: isinstance(payload, PromptSubmitted) and payload.text == "again")
            await until(lambda: host.service.session(host.session_id).stop())
            await again

    async def test_an_agent_that_others_use_is_told_that_a_turn_was_given_up(self, tmp_path: Path) -> None:
        async with world(stop_when_told, tmp_path) as host:
            await host.start()
            other = await host.service.start(tmp_path, SPEC)
            await host.service.session(other).connect()
            turn = host.prompting()
            await host.until_state(TurnState.STREAMING)
            turn.cancel()
            with pytest.raises(asyncio.CancelledError):
                await turn
            await until(host.agent.canceled.is_set)
            assert host.agents.launched[0].stopped_with_grace is None

    async def test_a_stop_with_no_turn_under_way_says_so(self, tmp_path: Path) -> None:
        async with world(echo, tmp_path) as host:
            await host.prompt()
            assert not host.service.session(host.session_id).stop()

    async def test_a_stop_answers_an_open_question_with_cancelled(self, tmp_path: Path) -> None:
        outcomes: list[object] = []

        async def ask(agent: FakeAgent, request: acp.PromptRequest) -> acp.PromptResponse:
            assert agent.end is not None
            response = await agent.end.request_permission(permission(("yes", "allow_once")))
            outcomes.append(response.outcome)
            return acp.PromptResponse(stop_reason="cancelled")

        async with world(ask, tmp_path) as host:
            await host.start()
            turn = host.prompting()
            await host.until_state(TurnState.AWAITING)
            host.service.session(host.session_id).stop()
            await turn
            log = await host.events()
        assert outcomes == [acp.CancelledPermissionOutcome()]
        resolved = next(event.payload for event in log if isinstance(event.payload, PermissionResolved))
        assert (resolved.outcome, resolved.by) == ("canceled", "nobody")
        assert states(log)[-1] == "canceled"

    async def test_a_permission_request_that_comes_after_the_stop_is_cancelled(self, tmp_path: Path) -> None:
        outcomes: list[object] = []

        async def ask_late(agent: FakeAgent, request: acp.PromptRequest) -> acp.PromptResponse:
            assert agent.end is not None
            agent.say("one moment")
            await agent.canceled.wait()
            response = await agent.end.request_permission(permission(("no", "reject_once")))
            outcomes.append(response.outcome)
            return acp.PromptResponse(stop_reason="cancelled")

        async with world(ask_late, tmp_path) as host:
            await host.start()
            turn = host.prompting()
            await host.until_state(TurnState.STREAMING)
            host.service.session(host.session_id).stop()
            await turn
            log = await host.events()
        assert outcomes == [acp.CancelledPermissionOutcome()]
        resolved = next(event.payload for event in log if isinstance(event.payload, PermissionResolved))
        assert (resolved.outcome, resolved.by) == ("canceled", "nobody")
        assert states(log)[-1] == "canceled"


class TestLosingTheAgent:
    @pytest.mark.parametrize("when", ["starting", "running", "streaming", "awaiting"])
    async def test_an_agent_that_dies_interrupts_the_turn(self, tmp_path: Path, when: str) -> None:
        async def die(agent: FakeAgent, request: acp.PromptRequest) -> None:
            assert agent.end is not None
            if when == "streaming":
                agent.say("last words")
            if when == "awaiting":
                await agent.end.request_permission(permission(("no", "reject_once")))
            await agent.end.close()

        async with world(die, tmp_path) as host:
            if when == "starting":

                async def die_early() -> None:
                    assert host.agent.end is not None
                    await host.agent.end.close()

                host.agent.on_new = die_early
            await host.start()
            turn = host.prompting()
            if when == "awaiting":
                await host.until_state(TurnState.AWAITING)
                assert host.agent.end is not None
                await host.agent.end.close()
            async with asyncio.timeout(10):
                ended = await turn
            log = await host.events()
        assert isinstance(ended, TurnEnded)
        assert ended.state is TurnState.INTERRUPTED
        error = next(event.payload for event in log if isinstance(event.payload, ErrorReported))
        assert error.code is ErrorCode.AGENT_CRASHED
        assert when in states(log)

    async def test_the_next_prompt_resumes_where_the_agent_can(self, tmp_path: Path) -> None:
        async def die_once(agent: FakeAgent, request: acp.PromptRequest) -> None:
            if len(agent.prompts) == 1 and agent.end is not None:
                await agent.end.close()
            agent.say("back")

        capabilities = acp.AgentCapabilities(
            load_session=True,
            session_capabilities=acp.SessionCapabilities(resume=acp.SessionResumeCapabilities()),
        )
        async with world(die_once, tmp_path, capabilities=capabilities) as host:
            await host.prompt()
            turn = await host.prompt()
            assert host.agent.methods[-3:] == ["initialize", "session/resume", "session/prompt"]
        assert states(turn) == ["resuming", "running", "streaming", "completed"]
        ready = turn[2].payload
        assert isinstance(ready, StateChanged)
        assert ready.agent_session is not None
        assert ready.agent_session.attached_by == "resume"

    async def test_an_agent_that_can_only_load_repeats_nothing_into_the_log(self, tmp_path: Path) -> None:
        async def replay(way: str, session_id: str) -> None:
            host.agent.say("hi")
            host.agent.say("and more of the past")

        capabilities = acp.AgentCapabilities(load_session=True)
        async with world(echo, tmp_path, capabilities=capabilities) as host:
            await host.prompt()
            host.agent.on_reopen = replay
            await host.lose_agent()
            turn = await host.prompt("again")
        ready = next(
            event.payload
            for event in turn
            if isinstance(event.payload, StateChanged) and event.payload.agent_session is not None
        )
        assert ready.agent_session is not None
        assert (ready.agent_session.attached_by, ready.agent_session.replayed_updates) == ("load", 2)
        assert [event.payload.text for event in turn if isinstance(event.payload, TextDelta)] == ["hi"]

    async def test_an_agent_with_no_memory_is_told_what_was_said(self, tmp_path: Path) -> None:
        async with world(echo, tmp_path) as host:
            await host.prompt("remember the number 7")
            await host.lose_agent()
            turn = await host.prompt("which number?")
            told = host.agent.prompts[-1].prompt
        assert isinstance(told[0], acp.TextContent)
        assert "Person: remember the number 7" in told[0].text
        assert "Agent: hi" in told[0].text
        assert "which number?" not in told[0].text
        assert told[1] == acp.TextContent(text="which number?")
        assert any(isinstance(event.payload, Notice) and "summary" in event.payload.text for event in turn)

    async def test_a_refused_resume_falls_back_and_says_so(self, tmp_path: Path) -> None:
        async def refuse(way: str, session_id: str) -> None:
            if way == "resume":
                raise RpcError(-32002, "never heard of it")

        capabilities = acp.AgentCapabilities(
            load_session=True,
            session_capabilities=acp.SessionCapabilities(resume=acp.SessionResumeCapabilities()),
        )
        async with world(echo, tmp_path, capabilities=capabilities) as host:
            await host.prompt()
            host.agent.on_reopen = refuse
            await host.lose_agent()
            turn = await host.prompt()
        assert any(
            isinstance(event.payload, Notice) and "never heard of it" in (event.payload.details or "")
            for event in turn
        )
        assert states(turn)[-1] == "completed"

    async def test_resume_without_a_prompt_brings_the_agent_back(self, tmp_path: Path) -> None:
        async def die(agent: FakeAgent, request: acp.PromptRequest) -> None:
            assert agent.end is not None
            await agent.end.close()

        async with world(die, tmp_path) as host:
            await host.prompt()
            ended = await host.service.session(host.session_id).resume()
            assert (ended.state, ended.stop_reason) == (TurnState.COMPLETED, "resumed")

    async def test_an_interrupted_turn_can_be_discarded(self, tmp_path: Path) -> None:
        async def die(agent: FakeAgent, request: acp.PromptRequest) -> None:
            assert agent.end is not None
            await agent.end.close()

        async with world(die, tmp_path) as host:
            await host.prompt()
            await host.service.session(host.session_id).discard()
            assert states(await host.events())[-1] == "canceled"
            with pytest.raises(InvalidInput):
                await host.service.session(host.session_id).discard()


class TestDeadlines:
    async def test_an_agent_that_never_answers_initialize_fails_the_turn(self, tmp_path: Path) -> None:
        async with world(echo, tmp_path) as host:
            host.agent.initialize_gate = asyncio.Event()
            await host.start()
            turn = host.prompting()
            await host.until_state(TurnState.STARTING)
            await host.clock.advance(61)
            await turn
            log = await host.events()
        error = next(event.payload for event in log if isinstance(event.payload, ErrorReported))
        assert error.code is ErrorCode.NETWORK_TIMEOUT
        assert "initialize" in error.message
        assert states(log)[-1] == "failed"

    async def test_an_agent_that_falls_silent_fails_the_turn(self, tmp_path: Path) -> None:
        async with world(wait_forever, tmp_path) as host:
            await host.start()
            turn = host.prompting()
            await host.until_state(TurnState.STREAMING)
            await host.clock.advance(899)
            assert not turn.done()
            await host.clock.advance(10)
            await turn
            log = await host.events()
        assert states(log)[-1] == "failed"
        assert any(
            isinstance(event.payload, ErrorReported) and "silent" in event.payload.message for event in log
        )

    async def test_a_person_may_think_as_long_as_they_like(self, tmp_path: Path) -> None:
        async def ask(agent: FakeAgent, request: acp.PromptRequest) -> None:
            assert agent.end is not None
            await agent.end.request_permission(permission(("yes", "allow_once"), ("no", "reject_once")))

        async with world(ask, tmp_path) as host:
            await host.start()
            turn = host.prompting()
            asked = await host.until(lambda payload: isinstance(payload, PermissionRequested))
            await host.until_state(TurnState.AWAITING)
            for _ in range(10):
                await host.clock.advance(800)
            assert not turn.done()
            assert isinstance(asked.payload, PermissionRequested)
            decision = PermissionReply(option_id="yes", by="person")
            host.service.session(host.session_id).decide(asked.payload.request_id, decision)
            await turn
            assert states(await host.events())[-1] == "completed"

    async def test_the_time_of_a_tool_call_is_not_that_of_the_person(self, tmp_path: Path) -> None:
        async def ask(agent: FakeAgent, request: acp.PromptRequest) -> None:
            assert agent.end is not None
            asked = permission(("yes", "allow_once"))
            tool_id = asked.tool_call.tool_call_id
            agent.update(acp.ToolCall(tool_call_id=tool_id, title="Run it", status="pending"))
            await agent.end.request_permission(asked)
            agent.update(acp.ToolCallProgress(tool_call_id=tool_id, status="completed"))

        async with world(ask, tmp_path) as host:
            await host.start()
            turn = host.prompting()
            asked = await host.until(lambda payload: isinstance(payload, PermissionRequested))
            await host.until_state(TurnState.AWAITING)
            await host.clock.advance(60)
            assert isinstance(asked.payload, PermissionRequested)
            decision = PermissionReply(option_id="yes", by="person")
            host.service.session(host.session_id).decide(asked.payload.request_id, decision)
            await turn
            log = await host.events()
        completed = next(event.payload for event in log if isinstance(event.payload, ToolCompleted))
        assert completed.duration_ms < 60_000

    async def test_a_turn_that_takes_longer_than_its_timeout_is_stopped(self, tmp_path: Path) -> None:
        async with world(stop_when_told, tmp_path) as host:
            await host.start()
            turn = asyncio.create_task(
                host.service.session(host.session_id).prompt(TurnPrompt(text="x", timeout=30))
            )
            await host.until_state(TurnState.STREAMING)
            await host.clock.advance(31)
            ended = await turn
        assert (ended.state, ended.stop_reason) == (TurnState.FAILED, "timeout")


class TestPermissions:
    @pytest.mark.parametrize(
        ("option", "outcome"), [("yes", "allowed"), ("ever", "allowed"), ("no", "denied"), (None, "denied")]
    )
    async def test_the_agent_gets_the_option_that_was_chosen(
        self, tmp_path: Path, option: str | None, outcome: str
    ) -> None:
        answers: list[object] = []

        async def ask(agent: FakeAgent, request: acp.PromptRequest) -> None:
            assert agent.end is not None
            options = permission(
                ("yes", "allow_once"),
                ("ever", "allow_always"),
                ("never", "reject_always"),
                ("no", "reject_once"),
            )
            answers.append((await agent.end.request_permission(options)).outcome)

        async with world(ask, tmp_path) as host:
            await host.start()
            turn = host.prompting()
            asked = await host.until(lambda payload: isinstance(payload, PermissionRequested))
            assert isinstance(asked.payload, PermissionRequested)
            assert [one.option_id for one in asked.payload.options] == ["yes", "ever", "never", "no"]
            host.service.session(host.session_id).decide(
                asked.payload.request_id, PermissionReply(option_id=option, by="person")
            )
            await turn
            log = await host.events()
        assert answers == [acp.SelectedPermissionOutcome(option_id=option or "no")]
        resolved = next(event.payload for event in log if isinstance(event.payload, PermissionResolved))
        assert (resolved.outcome, resolved.by) == (outcome, "person")
        assert states(log)[2:4] == ["awaiting", "running"]

    async def test_an_agent_hears_of_no_answer_before_the_log_has_it(self, tmp_path: Path) -> None:
        release, held = asyncio.Event(), asyncio.Event()
        outcomes: list[object] = []

        async def ask(agent: FakeAgent, request: acp.PromptRequest) -> None:
            assert agent.end is not None
            question = permission(("yes", "allow_once"))
            outcomes.append((await agent.end.request_permission(question)).outcome)

        async def hold(events: object) -> None:
            held.set()
            await release.wait()

        async with world(ask, tmp_path) as host:
            await host.start()
            turn = host.prompting()
            await host.until(lambda payload: isinstance(payload, PermissionRequested))
            host.store.before_append = hold
            host.service.session(host.session_id).decide("p1", PermissionReply(option_id="yes", by="person"))
            await held.wait()
            for _ in range(100):
                await asyncio.sleep(0)
            assert outcomes == []
            release.set()
            await turn
        assert outcomes == [acp.SelectedPermissionOutcome(option_id="yes")]

    async def test_an_answer_that_cannot_be_stored_grants_nothing(self, tmp_path: Path) -> None:
        outcomes: list[object] = []

        async def ask(agent: FakeAgent, request: acp.PromptRequest) -> None:
            assert agent.end is not None
            try:
                outcomes.append(await agent.end.request_permission(permission(("yes", "allow_once"))))
            except RpcError:
                outcomes.append("refused")
            await agent.canceled.wait()

        async def full(events: object) -> None:
            raise StoreFailed("the disk is full")

        async with world(ask, tmp_path) as host:
            await host.start()
            turn = host.prompting()
            await host.until(lambda payload: isinstance(payload, PermissionRequested))
            host.store.before_append = full
            host.service.session(host.session_id).decide("p1", PermissionReply(option_id="yes", by="person"))
            with pytest.raises(StoreFailed, match="full"):
                await host.service.session(host.session_id).save_answers()
            with pytest.raises(StoreFailed, match="full"):
                await turn
            host.store.before_append = None
        assert outcomes == ["refused"]

    async def test_an_answer_that_outruns_its_question_is_acknowledged_only_when_the_log_has_it(
        self, tmp_path: Path
    ) -> None:
        written = {PermissionRequested: asyncio.Event(), PermissionResolved: asyncio.Event()}
        held = {kind: asyncio.Event() for kind in written}

        async def ask(agent: FakeAgent, request: acp.PromptRequest) -> None:
            assert agent.end is not None
            await agent.end.request_permission(permission(("yes", "allow_once")))

        async def hold(events: Sequence[Event]) -> None:
            for kind in {type(event.payload) for event in events} & written.keys():
                held[kind].set()
                await written[kind].wait()

        async with world(ask, tmp_path) as host:
            await host.start()
            host.store.before_append = hold
            turn = host.prompting()
            await held[PermissionRequested].wait()
            (question,) = (await host.service.view(host.session_id)).permissions
            yes = PermissionReply(option_id="yes", by="person")
            host.service.session(host.session_id).decide(question.request_id, yes)
            acknowledged = asyncio.create_task(host.service.session(host.session_id).save_answers())
            await host.clock.advance(1)
            written[PermissionRequested].set()
            await held[PermissionResolved].wait()
            await host.clock.advance(1)
            assert not acknowledged.done()
            written[PermissionResolved].set()
            await acknowledged
            await turn

    async def test_an_acknowledged_answer_stands_in_the_log_though_the_agent_takes_its_question_back(
        self, tmp_path: Path
    ) -> None:
        async def ask(agent: FakeAgent, request: acp.PromptRequest) -> None:
            assert agent.end is not None
            await agent.end.request_permission(permission(("yes", "allow_once")))

        async with world(ask, tmp_path) as host:
            await host.start()
            turn = host.prompting()
            await host.until(lambda payload: isinstance(payload, PermissionRequested))
            yes = PermissionReply(option_id="yes", by="person")
            host.service.session(host.session_id).decide("p1", yes)
            (asking,) = [one for one in asyncio.all_tasks() if "request_permission" in one.get_name()]
            asking.cancel()
            await host.service.session(host.session_id).save_answers()
            log = await host.events()
            turn.cancel()
        answers = [event.payload for event in log if isinstance(event.payload, PermissionResolved)]
        assert [(answer.by, answer.outcome) for answer in answers] == [("person", "allowed")]

    async def test_a_question_that_is_still_being_written_when_the_turn_ends_is_settled_within_it(
        self, tmp_path: Path
    ) -> None:
        release, held = asyncio.Event(), asyncio.Event()
        asking: list[asyncio.Task[object]] = []

        async def ask_and_leave(agent: FakeAgent, request: acp.PromptRequest) -> None:
            assert agent.end is not None
            question = permission(("yes", "allow_once"))
            asking.append(asyncio.create_task(agent.end.request_permission(question)))
            await held.wait()

        async def hold(events: Sequence[Event]) -> None:
            if any(isinstance(event.payload, PermissionRequested) for event in events):
                held.set()
                await release.wait()

        async with world(ask_and_leave, tmp_path) as host:
            await host.start()
            host.store.before_append = hold
            turn = host.prompting()
            await held.wait()
            await host.clock.advance(1)
            release.set()
            await turn
            await asyncio.wait(asking)
            log = await host.events()
        assert kinds(log).index("permission_resolved") < kinds(log).index("turn_ended")

    async def test_a_denial_where_nothing_can_be_rejected_is_an_error_never_cancelled(
        self, tmp_path: Path
    ) -> None:
        errors: list[str] = []

        async def ask(agent: FakeAgent, request: acp.PromptRequest) -> None:
            assert agent.end is not None
            try:
                await agent.end.request_permission(permission(("yes", "allow_once")))
            except RpcError as error:
                errors.append(error.message)

        async with world(ask, tmp_path) as host:
            await host.start()
            turn = host.prompting()
            asked = await host.until(lambda payload: isinstance(payload, PermissionRequested))
            assert isinstance(asked.payload, PermissionRequested)
            host.service.session(host.session_id).decide(
                asked.payload.request_id, PermissionReply(option_id=None, by="person")
            )
            await turn
        assert len(errors) == 1
        assert "denied" in errors[0]

    async def test_two_questions_at_once_keep_the_turn_waiting_until_both_are_answered(
        self, tmp_path: Path
    ) -> None:
        async def ask_twice(agent: FakeAgent, request: acp.PromptRequest) -> None:
            assert agent.end is not None
            question = permission(("yes", "allow_once"), ("no", "reject_once"))
            await asyncio.gather(
                agent.end.request_permission(question), agent.end.request_permission(question)
            )

        async with world(ask_twice, tmp_path) as host:
            await host.start()
            turn = host.prompting()
            await host.until(
                lambda payload: isinstance(payload, PermissionRequested) and payload.request_id == "p2"
            )
            for request_id in ("p1", "p2"):
                host.service.session(host.session_id).decide(
                    request_id, PermissionReply(option_id="yes", by="person")
                )
            await turn
            log = await host.events()
        assert states(log) == ["starting", "running", "awaiting", "running", "completed"]

    async def test_an_answer_to_a_question_that_is_settled_is_refused(self, tmp_path: Path) -> None:
        async with world(echo, tmp_path) as host:
            await host.prompt()
            with pytest.raises(InvalidInput, match="p9"):
                host.service.session(host.session_id).decide(
                    "p9", PermissionReply(option_id="yes", by="person")
                )

    async def test_a_question_after_the_turn_is_denied(self, tmp_path: Path) -> None:
        answers: list[object] = []
        asked = asyncio.Event()

        async def ask_late(agent: FakeAgent) -> None:
            assert agent.end is not None
            question = permission(("yes", "allow_once"), ("no", "reject_once"))
            answers.append((await agent.end.request_permission(question)).outcome)
            asked.set()

        async with world(echo, tmp_path) as host:
            await host.prompt()
            late = asyncio.create_task(ask_late(host.agent))
            async with asyncio.timeout(5):
                await asked.wait()
            await late
        assert answers == [acp.SelectedPermissionOutcome(option_id="no")]


class TestTheLog:
    async def test_nothing_is_shown_before_it_is_stored(self, tmp_path: Path) -> None:
        release = asyncio.Event()
        stored: list[str] = []

        async def hold(events: object) -> None:
            stored.append("asked")
            await release.wait()

        async with world(echo, tmp_path) as host:
            await host.start()
            host.store.before_append = hold
            turn = host.prompting()
            watching = asyncio.create_task(
                host.until(lambda payload: isinstance(payload, PromptSubmitted)), name="watching"
            )
            await until(lambda: stored)
            assert not watching.done()
            assert host.agents.launched == []
            release.set()
            await watching
            await turn

    async def test_deltas_within_sixteen_milliseconds_become_one_event(self, tmp_path: Path) -> None:
        gate = asyncio.Event()

        async def stream(agent: FakeAgent, request: acp.PromptRequest) -> None:
            agent.say("first ")
            await gate.wait()
            for number in range(100):
                agent.say(f"{number} ")

        async with world(stream, tmp_path) as host:
            await host.start()
            turn = host.prompting()
            await host.until(lambda payload: isinstance(payload, TextDelta))
            gate.set()
            await host.clock.advance(0.1)
            await turn
            texts = [
                event.payload.text for event in await host.events() if isinstance(event.payload, TextDelta)
            ]
        assert texts == ["first ", "".join(f"{number} " for number in range(100))]

    async def test_a_door_that_comes_back_gets_each_later_event_once(self, tmp_path: Path) -> None:
        async def stream(agent: FakeAgent, request: acp.PromptRequest) -> None:
            for number in range(700):
                agent.update(acp.ToolCall(tool_call_id=f"c{number}", title=f"step {number}"))

        async with world(stream, tmp_path) as host:
            await host.prompt()
            log = await host.events()
            for after in (0, 1, 350, len(log) - 1):
                seen = []
                async with asyncio.timeout(5):
                    async for event in host.service.watch(host.session_id, after_seq=after):
                        seen.append(event.seq)
                        if event.seq == len(log):
                            break
                assert seen == list(range(after + 1, len(log) + 1))

    async def test_a_full_disk_fails_the_turn_loudly_and_the_next_turn_works(self, tmp_path: Path) -> None:
        async def full(events: object) -> None:
            raise StoreFailed("the disk is full")

        async def fill(agent: FakeAgent, request: acp.PromptRequest) -> None:
            if len(agent.prompts) == 1:
                host.store.before_append = full
            agent.say("words")
            if len(agent.prompts) == 1:
                await agent.canceled.wait()

        async with world(fill, tmp_path) as host:
            await host.start()
            with pytest.raises(StoreFailed, match="full"):
                await host.prompt()
            host.store.before_append = None
            turn = await host.prompt("again")
            assert states(turn)[-1] == "completed"
            assert await host.store.verify() == []

    async def test_what_a_full_disk_kept_back_is_told_as_soon_as_there_is_room(self, tmp_path: Path) -> None:
        async def full(events: object) -> None:
            raise StoreFailed("the disk is full")

        async def fill(agent: FakeAgent, request: acp.PromptRequest) -> None:
            host.store.before_append = full
            agent.say("words")
            await agent.canceled.wait()

        async with world(fill, tmp_path) as host:
            await host.start()
            with pytest.raises(StoreFailed, match="full"):
                await host.prompt()
            watching = asyncio.create_task(
                host.until(lambda payload: isinstance(payload, TurnEnded)), name="watching"
            )
            await host.clock.advance(RETRY_SECONDS)
            assert not watching.done()
            host.store.before_append = None
            await host.clock.advance(RETRY_SECONDS)
            await watching
            told = [event.payload for event in await host.events()]
            assert [one.text for one in told if isinstance(one, TextDelta)] == ["words"]
            assert await host.store.verify() == []

    @pytest.mark.parametrize("refusals", [1, 2])
    async def test_a_prompt_is_sent_and_in_the_log_or_neither_whichever_write_takes_it(
        self, tmp_path: Path, refusals: int
    ) -> None:
        refused: list[object] = []

        async def slow(events: object) -> None:
            for _ in range(20):
                await asyncio.sleep(0)
            if len(refused) < refusals:
                refused.append(events)
                raise StoreFailed("the disk is full")

        async with world(echo, tmp_path) as host:
            await host.start()
            host.store.before_append = slow
            if refusals == 1:
                assert states(await host.prompt())[-1] == "completed"
            else:
                with pytest.raises(StoreFailed):
                    await host.prompt()
            await host.prompt("again")
            sent = [
                one.payload.text for one in await host.events() if isinstance(one.payload, PromptSubmitted)
            ]
            assert sent == (["hello", "again"] if refusals == 1 else ["again"])
            assert await host.store.verify() == []

    async def test_a_prompt_that_could_not_be_stored_stands_in_the_way_of_nothing_else(
        self, tmp_path: Path
    ) -> None:
        async def full(events: object) -> None:
            raise StoreFailed("the disk is full")

        async with world(echo, tmp_path) as host:
            await host.start()
            host.store.before_append = full
            with pytest.raises(StoreFailed):
                await host.prompt()
            host.store.before_append = None
            await host.service.fork(host.session_id)

    async def test_a_prompt_that_cannot_be_stored_starts_nothing(self, tmp_path: Path) -> None:
        async def full(events: object) -> None:
            raise StoreFailed("the disk is full")

        async with world(echo, tmp_path) as host:
            await host.start()
            host.store.before_append = full
            with pytest.raises(StoreFailed):
                await host.prompt()
            host.store.before_append = None
            assert host.agents.launched == []
            assert kinds(await host.prompt("again")).count("prompt_submitted") == 1
            assert "hello" not in [
                event.payload.text
                for event in await host.events()
                if isinstance(event.payload, PromptSubmitted)
            ]


class TestOneWriter:
    async def test_a_second_turn_in_a_running_session_is_refused(self, tmp_path: Path) -> None:
        async with world(stop_when_told, tmp_path) as host:
            await host.start()
            turn = host.prompting()
            await host.until_state(TurnState.STREAMING)
            with pytest.raises(SessionBusy):
                await host.service.session(host.session_id).prompt(TurnPrompt(text="me too"))
            host.service.session(host.session_id).stop()
            await turn

    async def test_a_turn_cancelled_before_it_begins_leaves_the_session_free(self, tmp_path: Path) -> None:
        async with world(echo, tmp_path) as host:
            await host.start()
            session = host.service.session(host.session_id)
            turn = session.start_turn(TurnPrompt(text="never mind"))
            turn.cancel()
            await asyncio.wait((turn,))
            assert not session.is_busy
            assert states(await host.prompt())[-1] == "completed"

    async def test_a_second_session_in_the_same_tree_is_refused_with_ways_on(self, tmp_path: Path) -> None:
        async with world(stop_when_told, tmp_path) as host:
            await host.start()
            turn = host.prompting()
            await host.until_state(TurnState.STREAMING)
            second = await host.service.start(tmp_path, SPEC)
            with pytest.raises(SessionBusy) as caught:
                await host.service.session(second).prompt(TurnPrompt(text="me too"))
            assert host.session_id in caught.value.message
            assert caught.value.suggestion is not None
            assert all(way in caught.value.suggestion for way in ("Stop", "wait", "worktree"))
            host.service.session(host.session_id).stop()
            await turn

    async def test_sessions_that_only_read_run_side_by_side(self, tmp_path: Path) -> None:
        async with world(stop_when_told, tmp_path) as host:
            await host.start()
            writing = host.prompting()
            await host.until_state(TurnState.STREAMING)
            reader = host.session_id = await host.service.start(tmp_path, SPEC, reads_only=True)
            reading = host.prompting()
            await host.until_state(TurnState.STREAMING)
            host.service.session(reader).stop()
            await reading
            assert not writing.done()
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)

    async def test_a_session_that_waits_for_the_tree_gets_its_turn(self, tmp_path: Path) -> None:
        async with world(stop_when_told, tmp_path) as host:
            await host.start()
            first = host.prompting()
            await host.until_state(TurnState.STREAMING)
            second = await host.service.start(tmp_path, SPEC)
            waiting = asyncio.create_task(
                host.service.session(second).prompt(TurnPrompt(text="after you"), wait_for_tree=True)
            )
            await host.clock.advance(1)
            assert not waiting.done()
            host.service.session(host.session_id).stop()
            await first
            await host.clock.advance(1)
            await until(lambda: host.service.session(second).stop())
            await waiting

    async def test_who_waits_is_told_for_which_conversation_by_its_words(self, tmp_path: Path) -> None:
        async with world(stop_when_told, tmp_path) as host:
            await host.start()
            first = asyncio.create_task(
                host.service.session(host.session_id).prompt(
                    TurnPrompt(text="Mend the roof\nbefore it rains")
                )
            )
            await host.until_state(TurnState.STREAMING)
            host.session_id = await host.service.start(tmp_path, SPEC)
            waiting = asyncio.create_task(
                host.service.session(host.session_id).prompt(TurnPrompt(text="after you"), wait_for_tree=True)
            )
            told = (await host.until(lambda payload: isinstance(payload, Notice))).payload
            assert isinstance(told, Notice)
            assert (
                told.text == "Waiting for “Mend the roof before it rains”, which is working in this folder."
            )
            first.cancel()
            waiting.cancel()
            await asyncio.gather(first, waiting, return_exceptions=True)

    async def test_a_session_whose_host_died_since_can_be_taken_over(self, tmp_path: Path) -> None:
        async with world(stop_when_told, tmp_path) as host:
            await host.start()
            turn = host.prompting()
            await host.until_state(TurnState.STREAMING)
            host.store.forget_leases()
            async with world(echo, tmp_path, store=host.store) as other:
                other.session_id = host.session_id
                await other.service.reopen(other.session_id, SPEC)
                assert states(await other.events())[-1] == "interrupted"
                assert states(await other.prompt())[-1] == "completed"
            turn.cancel()
            await asyncio.gather(turn, return_exceptions=True)

    async def test_turns_of_a_dead_host_are_interrupted_and_others_left_alone(self, tmp_path: Path) -> None:
        async with world(stop_when_told, tmp_path) as host:
            await host.start()
            turn = host.prompting()
            await host.until_state(TurnState.STREAMING)
            assert await host.service.recover() == []
            host.store.forget_leases()
            assert await host.service.recover() == [host.session_id]
            log = await host.events()
            assert kinds(log)[-2:] == ["turn_ended", "state_changed"]
            assert states(log)[-1] == "interrupted"
            turn.cancel()
            await asyncio.gather(turn, return_exceptions=True)


async def test_a_model_is_chosen_by_value_or_by_name(tmp_path: Path) -> None:
    option = acp.SessionConfigSelect(
        id="model",
        name="Model",
        category="model",
        current_value="small",
        options=[
            acp.SessionConfigSelectEntry(value="small", name="Small one"),
            acp.SessionConfigSelectEntry(value="big", name="Big one"),
        ],
    )
    async with world(echo, tmp_path) as host:
        host.agent.config_options = [option]
        await host.prompt(options={"model": "Big One"})
        assert "set model=big" in host.agent.methods
        turn = await host.prompt(options={"model": "huge"})
    error = next(event.payload for event in turn if isinstance(event.payload, ErrorReported))
    assert error.code is ErrorCode.INVALID_INPUT
    assert "small, big" in error.message


async def test_text_of_two_messages_is_not_joined(tmp_path: Path) -> None:
    async def two(agent: FakeAgent, request: acp.PromptRequest) -> None:
        agent.update(acp.AgentMessageChunk(content=acp.TextContent(text="a"), message_id="m1"))
        agent.update(acp.AgentMessageChunk(content=acp.TextContent(text="b"), message_id="m1"))
        agent.update(acp.AgentMessageChunk(content=acp.TextContent(text="c"), message_id="m2"))
        agent.update(text("d"))

    async with world(two, tmp_path) as host:
        turn = await host.prompt()
    assert [event.payload.text for event in turn if isinstance(event.payload, TextDelta)] == ["ab", "c", "d"]
