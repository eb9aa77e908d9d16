"""Permission requests and questions of one session; the turn awaits while one is open.

The log has every request before its answer, and every answer before the agent gets it or the person sees it
accepted, so that a crash forgets no permission. Outside of a turn a request is denied or declined at once.
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
from portico.sessions.requests.questions import CANCELED, DECLINED, DECLINED_UNATTENDED, PendingQuestions

if TYPE_CHECKING:
    from portico.sessions.runtime import SessionRuntime

_Answer = TypeVar("_Answer")

_WORKING = (TurnState.RUNNING, TurnState.STREAMING)


class PendingRequests:
    def __init__(self, session: "SessionRuntime") -> None:
        # Each request is an event, so there were fewer of them than events. A door may still answer a request
        # that it was shown before this process began: that must not answer a new one.
        asked = session.journal.committed_seq - 1
        self.permissions = PendingPermissions(asked)
        self.questions = PendingQuestions(asked)
        self._session = session
        self._recorded = asyncio.Event()
        self._is_stopping = False

    @property
    def serve(self) -> Mapping[str, MethodHandler]:
        """Handlers of the requests that an agent makes."""
        return {"session/request_permission": self.ask_permission, "elicitation/create": self.ask_question}

    async def ask_permission(self, request: acp.RequestPermissionRequest) -> acp.RequestPermissionResponse:
        self._session.hear()
        call = self._session.tools.complete(request.tool_call)
        offered = extensions.from_meta(request.meta, extensions.OfferedScopes)
        question = translation.permission_requested(
            self.permissions.next_id(), call, request.options, offered
        )
        waiting = self.permissions.add(question)
        resolved = events.PermissionResolved(request_id=question.request_id, outcome="canceled", by="nobody")
        try:
            unattended = PermissionReply(option_id=None, by="nobody")
            await self._await_person(
                question, lambda: self.permissions.answer(question.request_id, unattended)
            )
            resolved = await waiting
        except PorticoError:
            resolved = msgspec.structs.replace(resolved, outcome="denied")
            raise
        finally:
            self.permissions.remove(question.request_id)
            self._session.tools.restart_clock(question.tool_id)
            resolved = _result(waiting) or resolved
            self._record_answer(resolved)
        if resolved.by != "nobody":
            await self._session.journal.commit()
        return answer_to_agent(resolved)

    async def ask_question(self, request: acp.CreateElicitationRequest) -> acp.CreateElicitationResponse:
        self._session.hear()
        question = elicitation.question_asked(self.questions.next_id(), request)
        if question is None:
            self._session.journal.record(elicitation.declined_notice(request))
            return acp.CreateElicitationResponse(action=DECLINED.action)
        waiting = self.questions.add(question)
        answer = CANCELED
        try:
            await self._await_person(
                question, lambda: self.questions.answer(question.request_id, DECLINED_UNATTENDED)
            )
            answer = await waiting
        finally:
            self.questions.remove(question.request_id)
            answer = _result(waiting) or answer
            self._record_answer(elicitation.question_answered(question, answer))
        if answer.by != "nobody":
            await self._session.journal.commit()
        return elicitation.answer_to_agent(question, answer)

    async def save(self) -> None:
        """Wait until all answers are on the disk. StoreFailed if they cannot be written."""
        while self.permissions.has_answers or self.questions.has_answers:
            await self._recorded.wait()
        await self._session.journal.commit()

    def completed(self, elicitation_id: str) -> bool:
        """Record that the agent reports a web page as completed; False if it is not of this session."""
        question = self.questions.complete_page(elicitation_id)
        if question is not None:
            self._session.journal.record(
                events.Notice(level="info", text=f"Done: {question.message}", source="agent")
            )
        return question is not None

    def decided(self, decided: extensions.PermissionDecided) -> None:
        """Record a request that a permission rule has answered for the person."""
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

    def stop(self) -> None:
        """Cancel every open request, and those that still come, because the turn is being stopped."""
        self._is_stopping = True
        self._cancel_all()

    def _cancel_all(self) -> None:
        self.permissions.cancel_all()
        self.questions.cancel_all()

    async def end(self) -> None:
        """Cancel what is still open at the end of a turn, and wait until the log has it."""
        self._cancel_all()
        while self.permissions.has_answers or self.questions.has_answers:
            await self._recorded.wait()
        self._is_stopping = False

    async def _await_person(self, question: events.AnyPayload, answer_unattended: Callable[[], None]) -> None:
        """Write the request to the disk before anyone sees it. Outside a turn it is answered unattended."""
        session = self._session
        if not session.status.state.active:
            session.journal.record(question)
            answer_unattended()
            return
        if self._is_stopping:
            session.journal.record(question)
            self._cancel_all()
            return
        payloads = [question]
        if session.status.state in _WORKING:
            payloads.append(session.move(TurnEvent.ANSWER_NEEDED))
        await session.journal.commit(*payloads)

    def _record_answer(self, answer: events.AnyPayload) -> None:
        self._session.hear()
        self._session.journal.record(answer)
        self._recorded.set()
        self._recorded = asyncio.Event()
        waiting = len(self.permissions) + len(self.questions)
        if not waiting and self._session.status.state is TurnState.AWAITING:
            self._session.journal.record(self._session.move(TurnEvent.ANSWERED))


def _result(answer: "asyncio.Future[_Answer]") -> "_Answer | None":
    """The answer, even if the agent has stopped waiting for it."""
    return answer.result() if answer.done() and not answer.cancelled() else None
