"""Calls of the contract on a host in memory: what they ask for, what they refuse, what they tell."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from portico.acp import _schema as acp
from portico.api.fields import one_of
from portico.api.v1 import agent_pb as pb
from portico.api.v1 import events_pb
from portico.chains.reviews import open_reviews
from portico.domain.components import SessionComponents
from portico.domain.errors import InvalidInput, SessionNotFound
from portico.domain.reviews import ReviewMode
from portico.domain.session_summary import SessionSummary
from portico.doors.api.service import ApiService
from portico.doors.api.session_messages import MAX_PAGE, page_size, read_attachment, read_reply, read_todos
from portico.review.local_reviews import LocalReviews
from portico.sessions.content.attachments import AttachedBytes, AttachedFile
from portico.sessions.ports import AgentSpec
from tests.sessions.support import SPEC, Answer, FakeAgent, World, world

NOBODY: Any = None
"""The context of a call, which none of them looks at."""


class Here:
    """The part of the catalog that sessions need."""

    def __init__(self, folder: Path) -> None:
        self.workspace = folder

    async def agent(self, name: str, workspace: Path) -> AgentSpec:
        return SPEC

    async def agent_of(self, summary: SessionSummary) -> AgentSpec:
        return SPEC

    async def mode(self, workspace: Path) -> ReviewMode:
        return "direct"

    def chosen_components(self) -> SessionComponents:
        return SessionComponents()


class Calls:
    def __init__(self, host: World, service: ApiService) -> None:
        self.host = host
        self.service = service
        self.session_id = ""

    async def start(self) -> pb.SessionDetail:
        answer = await self.service.start_session(pb.StartSessionRequest(), NOBODY)
        assert answer.session is not None
        assert answer.session.summary is not None
        self.session_id = answer.session.summary.session_id
        return answer.session

    async def detail(self) -> pb.SessionDetail:
        request = pb.GetSessionRequest(session_id=self.session_id)
        answer = await self.service.get_session(request, NOBODY)
        assert answer.session is not None
        return answer.session

    def invoke(self, **fields: Any) -> "asyncio.Task[list[pb.InvokeResponse]]":
        async def read() -> list[pb.InvokeResponse]:
            request = pb.InvokeRequest(session_id=self.session_id, **fields)
            return [one async for one in self.service.invoke(request, NOBODY)]

        return asyncio.create_task(read())

    async def submit(self, field: str, value: object) -> None:
        request = pb.SubmitClientEventRequest(session_id=self.session_id, event=one_of(field, value))
        await self.service.submit_client_event(request, NOBODY)

    async def until(self, happened: Callable[[pb.SessionDetail], bool]) -> pb.SessionDetail:
        async with asyncio.timeout(10):
            while not happened(detail := await self.detail()):
                await self.host.clock.advance(0.05)
        return detail


@asynccontextmanager
async def calls(answer: Answer, folder: Path, closing: asyncio.Event | None = None) -> AsyncIterator[Calls]:
    async with world(answer, folder) as host:
        here: Any = Here(folder)
        desk = LocalReviews(host.service, host.ports, open_reviews(dict(os.environ), host.clock))
        service = ApiService(host.service, host.ports, desk, here, closing or asyncio.Event())
        try:
            yield Calls(host, service)
        finally:
            await service.turn_queue.close()


def asks(*names: str) -> Answer:
    """An agent that asks several things at once."""

    async def answer(agent: FakeAgent, request: acp.PromptRequest) -> None:
        assert agent.end is not None
        options = [
            acp.PermissionOption(option_id="yes", name="Yes", kind="allow_once"),
            acp.PermissionOption(option_id="no", name="No", kind="reject_once"),
        ]
        await asyncio.gather(
            *(
                agent.end.request_permission(
                    acp.RequestPermissionRequest(
                        session_id=request.session_id,
                        tool_call=acp.ToolCallUpdate(tool_call_id=name, title=name, kind="execute"),
                        options=options,
                    )
                )
                for name in names
            )
        )

    return answer


async def test_several_answers_count_though_another_door_was_faster_with_one(tmp_path: Path) -> None:
    async with calls(asks("a", "b", "c"), tmp_path) as door:
        await door.start()
        turn = door.invoke(text="go")
        detail = await door.until(lambda detail: len(detail.permissions) == 3)
        assert detail.summary is not None
        assert detail.summary.waiting == 3
        first, *_ = detail.permissions
        one = pb.PermissionDecision(request_id=first.request_id, option_id="yes")
        await door.submit("permission_decisions", pb.PermissionDecisions(decisions=[one]))
        all_of_them = [
            pb.PermissionDecision(request_id=each.request_id, option_id="no") for each in detail.permissions
        ]
        with pytest.raises(InvalidInput, match=first.request_id):
            await door.submit("permission_decisions", pb.PermissionDecisions(decisions=all_of_them))
        async with asyncio.timeout(10):
            updates: list[Any] = [one.update for one in await turn]
        outcomes = [
            update.value.payload.value.outcome.name
            for update in updates
            if update.value.payload.field == "permission_resolved"
        ]
        assert sorted(outcomes) == ["ALLOWED", "DENIED", "DENIED"]


async def test_the_preview_of_a_rule_about_commands_lists_no_files(tmp_path: Path) -> None:
    async with calls(asks("a"), tmp_path) as door:
        await door.start()
        turn = door.invoke(text="go")
        detail = await door.until(lambda detail: len(detail.permissions) == 1)
        asked = detail.permissions[0].request_id
        # The catalog of this test cannot list files: a rule about files would fail here.
        request = pb.PreviewRuleRequest(session_id=door.session_id, request_id=asked, rule="execute")
        preview = await door.service.preview_rule(request, NOBODY)
        assert preview.covers_request
        assert (preview.problem, preview.file_count) == ("", 0)
        no = pb.PermissionDecision(request_id=asked, option_id="no")
        await door.submit("permission_decisions", pb.PermissionDecisions(decisions=[no]))
        async with asyncio.timeout(10):
            await turn


async def test_the_decisions_of_all_sessions_are_listed_newest_session_first(tmp_path: Path) -> None:
    async def decide(door: Calls, option_id: str) -> None:
        await door.start()
        turn = door.invoke(text="go")
        detail = await door.until(lambda detail: len(detail.permissions) == 2)
        decisions = [
            pb.PermissionDecision(request_id=one.request_id, option_id=option_id)
            for one in detail.permissions
        ]
        await door.submit("permission_decisions", pb.PermissionDecisions(decisions=decisions))
        async with asyncio.timeout(10):
            await turn

    async with calls(asks("a", "b"), tmp_path) as door:
        await decide(door, "yes")
        await decide(door, "no")
        everything = await door.service.list_decisions(pb.ListDecisionsRequest(), NOBODY)
        told = [
            (one.request.title, one.resolved.outcome.name, one.resolved.by.name)
            for one in everything.decisions
            if one.request is not None and one.resolved is not None
        ]
        assert sorted(told[:2]) == [("a", "DENIED", "PERSON"), ("b", "DENIED", "PERSON")]
        assert sorted(told[2:]) == [("a", "ALLOWED", "PERSON"), ("b", "ALLOWED", "PERSON")]
        assert everything.next_after_session_id == ""
        assert {one.session_id for one in everything.decisions[:2]} == {door.session_id}

        first = await door.service.list_decisions(pb.ListDecisionsRequest(limit=1), NOBODY)
        assert first.next_after_session_id == door.session_id
        rest = pb.ListDecisionsRequest(limit=1, after_session_id=door.session_id)
        second = await door.service.list_decisions(rest, NOBODY)
        assert [*first.decisions, *second.decisions] == list(everything.decisions)


async def test_a_decision_is_listed_once_though_its_session_was_forked(tmp_path: Path) -> None:
    async with calls(asks("a"), tmp_path) as door:
        await door.start()
        turn = door.invoke(text="go")
        detail = await door.until(lambda detail: len(detail.permissions) == 1)
        yes = pb.PermissionDecision(request_id=detail.permissions[0].request_id, option_id="yes")
        await door.submit("permission_decisions", pb.PermissionDecisions(decisions=[yes]))
        async with asyncio.timeout(10):
            await turn
        source = door.session_id
        forked = await door.service.fork_session(pb.ForkSessionRequest(session_id=source), NOBODY)
        assert forked.session is not None
        assert forked.session.summary is not None

        async def sessions() -> list[str]:
            listed = await door.service.list_decisions(pb.ListDecisionsRequest(), NOBODY)
            return [one.session_id for one in listed.decisions]

        assert await sessions() == [source]
        await door.service.clear_session(pb.ClearSessionRequest(session_id=source), NOBODY)
        assert await sessions() == [forked.session.summary.session_id]  # The only one that still has it.


async def test_what_a_session_shows_is_not_ahead_of_its_number(tmp_path: Path) -> None:
    async with calls(asks(), tmp_path) as door:
        detail = await door.start()
        assert detail.summary is not None
        assert (detail.summary.last_seq, detail.summary.is_new, detail.summary.has_draft) == (1, True, False)
        await door.submit("draft", pb.DraftChange(text="hm", client_id="page"))
        drafted = await door.detail()
        assert drafted.summary is not None
        assert drafted.desk is not None
        assert drafted.summary.has_draft
        assert (drafted.desk.draft, drafted.desk.client_id) == ("hm", "page")
        written = [events_pb.Todo(content="think"), events_pb.Todo(todo_id="x", content="act")]
        await door.service.write_todos(
            pb.WriteTodosRequest(session_id=door.session_id, todos=written), NOBODY
        )
        assert [one.todo_id for one in (await door.detail()).todos] == ["todo-1", "x"]


async def test_a_call_without_a_session_or_about_one_that_is_not_there_is_refused(tmp_path: Path) -> None:
    async with calls(asks(), tmp_path) as door:
        with pytest.raises(InvalidInput, match="session_id is required"):
            await door.detail()
        door.session_id = "nothing"
        for call in (
            door.detail(),
            door.submit("draft", pb.DraftChange(text="hm")),
            door.service.clear_session(pb.ClearSessionRequest(session_id="nothing"), NOBODY),
            door.service.stop_turn(pb.StopTurnRequest(session_id="nothing"), NOBODY),
        ):
            with pytest.raises(SessionNotFound):
                await call
        with pytest.raises(SessionNotFound):
            await door.invoke(text="hello")


async def test_an_event_that_says_nothing_is_refused(tmp_path: Path) -> None:
    async with calls(asks(), tmp_path) as door:
        await door.start()
        request = pb.SubmitClientEventRequest(session_id=door.session_id)
        with pytest.raises(InvalidInput, match="event is required"):
            await door.service.submit_client_event(request, NOBODY)


@pytest.mark.parametrize("text", ["x" * 40_000_000, "\n" * 20_000_000 + "x"])
async def test_a_prompt_that_fits_into_no_line_is_refused_with_what_to_do_instead(
    tmp_path: Path, text: str
) -> None:
    async with calls(asks(), tmp_path) as door:
        await door.start()
        with pytest.raises(InvalidInput, match=r"have 38\.1 MB; the limit is 30 MB") as refused:
            await door.invoke(text=text)
        assert "mention it as @path" in (refused.value.suggestion or "")
        summary = (await door.detail()).summary
        assert summary is not None
        assert summary.is_new


def test_an_attachment_by_path_is_of_the_session_s_folder(tmp_path: Path) -> None:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (tmp_path / "secret").write_text("s")
    (folder / "link").symlink_to(tmp_path / "secret")
    for path in ("../secret", str(tmp_path / "secret"), "link", "a/../../secret"):
        with pytest.raises(InvalidInput, match="outside the session's workspace"):
            read_attachment(pb.Attachment(source=one_of("path", path)), folder)
    assert read_attachment(pb.Attachment(source=one_of("path", "a/b.txt")), folder) == AttachedFile(
        folder / "a" / "b.txt", folder
    )
    with pytest.raises(InvalidInput, match="neither"):
        read_attachment(pb.Attachment(name="x"), folder)
    assert read_attachment(pb.Attachment(name="x", source=one_of("data", b"1")), folder) == AttachedBytes(
        name="x", data=b"1"
    )


def test_pages_have_a_usual_and_a_largest_size() -> None:
    assert [page_size(asked, 50) for asked in (-1, 0, 7, 10**6)] == [50, 50, 7, MAX_PAGE]


def test_a_reply_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidInput, match="action is required"):
        read_reply(pb.QuestionReply(request_id="q1"))
    of_a_newer_contract = pb.QuestionReply.from_binary(b"\x10\x63")
    with pytest.raises(InvalidInput, match="action is required"):
        read_reply(of_a_newer_contract)
    accept = events_pb.QuestionAction.ACCEPT
    for content in ("[]", "{", '{"a": {"b": 1}}'):
        with pytest.raises(InvalidInput, match="content_json is not valid"):
            read_reply(pb.QuestionReply(request_id="q1", action=accept, content_json=content))
    assert read_reply(pb.QuestionReply(action=accept, content_json='{"a": 1}')).content == {"a": 1}


def test_todos_have_what_was_said_and_the_usual_for_the_rest() -> None:
    (one, two) = read_todos(
        [
            events_pb.Todo(content="think"),
            events_pb.Todo(
                todo_id="x",
                content="act",
                status=events_pb.Progress.COMPLETED,
                priority=events_pb.Priority.HIGH,
            ),
        ]
    )
    assert (one.todo_id, one.status, one.priority) == ("todo-1", "pending", "medium")
    assert (two.todo_id, two.status, two.priority) == ("x", "completed", "high")


async def test_a_name_and_a_pin_of_the_person_stay(tmp_path: Path) -> None:
    async def titled(agent: FakeAgent, request: acp.PromptRequest) -> None:
        agent.update(acp.SessionInfoUpdate(title="The agent's own"))

    async with calls(titled, tmp_path) as door:
        await door.start()
        name = pb.UpdateSessionRequest(session_id=door.session_id, title="Mine")
        pin = pb.UpdateSessionRequest(session_id=door.session_id, pinned=True)
        for request in (name, pin):
            await door.service.update_session(request, NOBODY)
        await door.invoke(text="go")
        listed = await door.service.list_sessions(pb.ListSessionsRequest(), NOBODY)
        assert [(one.title, one.pinned) for one in listed.sessions] == [("Mine", True)]
        with pytest.raises(InvalidInput):
            await door.service.update_session(
                pb.UpdateSessionRequest(session_id=door.session_id, title=" "), NOBODY
            )
