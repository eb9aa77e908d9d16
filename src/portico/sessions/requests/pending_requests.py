"""Permission requests and questions of one session; the turn awaits while one is open.

Every question and every answer is in the log, in this order, and an answer before the agent has it, or the person hears
that it was taken: what was allowed is not forgotten by a crash. While one is open the turn awaits; outside of a turn
nobody is there to be asked.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

import msgspec

from portico.acp import _schema as acp
from portico.acp import extensions
from portico.acp.connection import MethodHandler
from portico.acp.lenient_decoder import decode
from portico.domain import events
from portico.domain.errors import PorticoError
from portico.domain.turns import TurnEvent, TurnState
from portico.sessions.content import translation
from portico.sessions.requests import elicitation
from portico.sessions.requests.permissions import PendingPermissions, PermissionReply, answer_to_agent
from portico.sessions.requests.questions import CANCELED, DECLINED, NOBODY_THERE, PendingQuestions

if TYPE_CHECKING:
    from portico.sessions.runtime import SessionRuntime

Given = TypeVar("Given")

_WORKING = (TurnState.RUNNING, TurnState.STREAMING)


class PendingRequests:
    def __init__(self, session: "SessionRuntime") -> None:
        # Each question took a place in the log, so the log is at least as long as all of them; a new one has its
        # beginning and nothing else. A door may still answer what it was shown before this process began.
        asked = session.journal.committed_seq - 1
        self.permissions = PendingPermissions(asked)
        self.questions = PendingQuestions(asked)
        self._session = session
        self._settled = asyncio.Event()

    @property
    def serve(self) -> Mapping[str, MethodHandler]:
        """What an agent calls to ask something."""
        return {"session/request_permission": self.ask_permission, "elicitation/create": self.ask_question}

    async def ask_permission(self, request: acp.RequestPermissionRequest) -> acp.RequestPermissionResponse:
        self._session.hear()
        call = self._session.tools.complete(request.tool_call)
        offered = extensions.from_meta(request.meta, extensions.OfferedScopes)
        question = translation.permission_requested(
            self.permissions.next_id(), call, request.options, offered
        )
        waiting = self.permissions.ask(question)
        resolved = events.PermissionResolved(request_id=question.request_id, outcome="canceled", by="nobody")
        try:
            nobody = PermissionReply(option_id=None, by="nobody")
            await self._await_person(question, lambda: self.permissions.answer(question.request_id, nobody))
            resolved = await waiting
        except PorticoError:
            resolved = msgspec.structs.replace(resolved, outcome="denied")
            raise
        finally:
            self.permissions.forget(question.request_id)
            resolved = _given(waiting) or resolved
            self._settle(resolved)
        if resolved.by != "nobody":
            await self._session.journal.commit()
        return answer_to_agent(resolved)

    async def ask_question(self, request: acp.CreateElicitationRequest) -> acp.CreateElicitationResponse:
        self._session.hear()
        question = elicitation.question_asked(self.questions.next_id(), request)
        if question is None:
            self._session.journal.record(elicitation.declined_notice(request))
            return acp.CreateElicitationResponse(action=DECLINED.action)
        waiting = self.questions.ask(question)
        reply = CANCELED
        try:
            await self._await_person(
                question, lambda: self.questions.reply(question.request_id, NOBODY_THERE)
            )
            reply = await waiting
        finally:
            self.questions.forget(question.request_id)
            reply = _given(waiting) or reply
            self._settle(elicitation.question_answered(question, reply))
        if reply.by != "nobody":
            await self._session.journal.commit()
        return elicitation.answer_to_agent(question, reply)

    async def keep(self) -> None:
        """Have the answers that were just given on the disk. StoreFailed if they cannot be written."""
        while self.permissions.answered or self.questions.answered:
            await self._settled.wait()
        await self._session.journal.commit()

    def completed(self, elicitation_id: str) -> bool:
        """The agent says that a page has done its work; whether this session had shown it."""
        question = self.questions.completed(elicitation_id)
        if question is not None:
            self._session.journal.record(
                events.Notice(level="info", text=f"Done: {question.message}", source="agent")
            )
        return question is not None

    def decided(self, decided: extensions.PermissionDecided) -> None:
        """A rule answered for the person: the log has the question and the answer all the same."""
        call = self._session.tools.complete(decode(decided.tool_call, acp.ToolCallUpdate))
        if (waiting := self.permissions.about(call.tool_call_id)) is not None:
            decision = PermissionReply(option_id=decided.option_id, by="policy", rule=decided.rule)
            self.permissions.answer(waiting, decision)
            return
        options = decode(decided.options, list[acp.PermissionOption])
        question = translation.permission_requested(self.permissions.next_id(), call, options)
        self._session.journal.record(question)
        self._session.journal.record(
            events.PermissionResolved(
                request_id=question.request_id,
                outcome=decided.outcome,
                by="policy",
                option_id=decided.option_id,
                rule=decided.rule or decided.source,
            )
        )

    def cancel_all(self) -> None:
        """The turn is being stopped: every open question ends unanswered."""
        self.permissions.cancel_all()
        self.questions.cancel_all()

    async def end(self) -> None:
        """The turn is over. What is still open ends unanswered, and stands in the log before the turn's end."""
        self.cancel_all()
        while self.permissions.answered or self.questions.answered:
            await self._settled.wait()

    async def _await_person(self, question: events.AnyPayload, nobody: Callable[[], None]) -> None:
        """Have the question on the disk before anyone sees it. Without a turn, `nobody` answers it."""
        session = self._session
        if not session.status.state.active:
            session.journal.record(question)
            nobody()
            return
        steps = [question]
        if session.status.state in _WORKING:
            steps.append(session.move(TurnEvent.ANSWER_NEEDED))
        await session.journal.commit(*steps)

    def _settle(self, answer: events.AnyPayload) -> None:
        self._session.hear()
        self._session.journal.record(answer)
        self._settled.set()
        self._settled = asyncio.Event()
        waiting = len(self.permissions) + len(self.questions)
        if not waiting and self._session.status.state is TurnState.AWAITING:
            self._session.journal.record(self._session.move(TurnEvent.ANSWERED))


def _given(answer: "asyncio.Future[Given]") -> "Given | None":
    """What was answered, though whoever asked may no longer be there to take it."""
    return answer.result() if answer.done() and not answer.cancelled() else None
