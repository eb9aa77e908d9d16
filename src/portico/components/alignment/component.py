"""The component align-first: after each prompt nothing is changed before the person has agreed to what was understood.

The agent calls `align` with its understanding. Until the person says yes, the chain refuses edits and commands, those
of the agent as well as those of other components: it stands left of them.
"""

import asyncio
import secrets
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from portico.acp import _schema as acp
from portico.acp.extensions import ToolCallMeta, from_meta
from portico.acp.lenient_decoder import decode
from portico.acp.session_id import read_session_id
from portico.components.component import Component, ComponentContext
from portico.components.permission import request_permission
from portico.conductor.mcp_bridge.server_proxy import McpProxy
from portico.conductor.mcp_bridge.session_servers import ChainSession
from portico.conductor.permissions.client_requests import ACTION_METHODS, read_client_request
from portico.conductor.permissions.request import PermissionOptions
from portico.conductor.prompt_message import METHOD as PROMPT
from portico.conductor.prompt_message import PromptMessage
from portico.conductor.proxy import Proxy
from portico.mcp.server import InProcessServer, ToolServer
from portico.mcp.tools import Tool, ToolCall, ToolFailure, schema_of
from portico.rpc.messages import INVALID_REQUEST, Message, RpcError

SERVER_NAME = "portico-alignment"
_ASK = "session/request_permission"
_PROGRESS_SECONDS = 10.0
_HARMLESS = frozenset({"read", "search", "think", "fetch", "switch_mode"})
_INSTRUCTIONS = "Say back what you understood and wait for the person's yes before you change anything."
_ALIGN = """Says back to the person what you understood of their prompt and what you are going to do, and waits for \
their answer. Read what you need first. Before they agree, edits and commands are refused."""
_CONTEXT = (
    "The person wants to agree before anything is changed. Read what you need, then call the tool align with what you "
    "understood and what you are going to do. Until they say yes, edits and commands are refused."
)
_REFUSED = "Not before the person agrees: call align with what you understood, and wait for their yes."


class _Answer(StrEnum):
    YES = "yes"
    YES_FOR_SESSION = "session"
    NO = "no"


_WORDS = {
    _Answer.YES: "Yes, go ahead",
    _Answer.YES_FOR_SESSION: "Yes, and do not ask again in this session",
    _Answer.NO: "No",
}
_ANSWER, _COMMENT = "answer", "comment"
_LONGEST_TITLE = 200
_FORM = acp.ElicitationSchema(
    title="Align first",
    properties={
        _ANSWER: acp.ElicitationPropertySchema(
            type="string",
            title="Is that right?",
            one_of=[acp.EnumOption(const=one.value, title=words) for one, words in _WORDS.items()],
        ),
        _COMMENT: acp.ElicitationPropertySchema(type="string", title="Comment", max_length=2000),
    },
    required=[_ANSWER],
)
_OPTIONS = [
    acp.PermissionOption(option_id=_Answer.YES.value, name=_WORDS[_Answer.YES], kind="allow_once"),
    acp.PermissionOption(option_id=_Answer.NO.value, name=_WORDS[_Answer.NO], kind="reject_once"),
]


async def _ask_person(proxy: Proxy, session_id: str, words: str, *, form: bool) -> tuple[_Answer, str]:
    """The person's answer and comment. No answer, and no person to ask, is a no."""
    if form:
        return await _ask_by_form(proxy, session_id, words)
    call = acp.ToolCallUpdate(
        tool_call_id=f"portico-align-{secrets.token_hex(8)}",
        # A grant for good then holds for these words only.
        title=f"Agree: {' '.join(words.split())[:_LONGEST_TITLE]}",
        kind="other",
        content=[acp.Content(content=acp.TextContent(text=words))],
    )
    question = acp.RequestPermissionRequest(session_id=session_id, tool_call=call, options=_OPTIONS)
    chosen = await request_permission(proxy.node, question)
    return (_Answer.YES if chosen == _Answer.YES.value else _Answer.NO), ""


async def _ask_by_form(proxy: Proxy, session_id: str, words: str) -> tuple[_Answer, str]:
    question = acp.CreateElicitationRequest(
        message=f"The agent understood:\n\n{words}",
        mode="form",
        requested_schema=_FORM,
        session_id=session_id,
    )
    try:
        answered = decode(
            await proxy.ask_client("elicitation/create", question), acp.CreateElicitationResponse
        )
    except (RpcError, msgspec.DecodeError) as error:
        raise ToolFailure("The person could not be asked, so nothing may be changed yet.") from error
    content = answered.content or {}
    comment = content.get(_COMMENT)
    chosen = content.get(_ANSWER) if answered.action == "accept" else _Answer.NO.value
    answer = _Answer(chosen) if chosen in list(_Answer) else _Answer.NO
    return answer, comment.strip() if isinstance(comment, str) else ""


class AlignQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    understanding: Annotated[
        str, Meta(description="What you understood, in your own words.", min_length=1, max_length=4000)
    ]
    plan: Annotated[str, Meta(description="What you are going to change, in short.", max_length=4000)] = ""


class AlignFirstComponent(Component):
    name = "align-first"
    summary = "the agent says back what it understood, and changes nothing before your yes"

    def plan(self, context: ComponentContext) -> Sequence[Proxy]:
        elicitation = context.editor.elicitation
        return (AlignmentProxy(takes_questions=elicitation is not None and elicitation.form is not None),)


class AlignmentProxy(McpProxy):
    """`takes_questions` says whether the client can show a form; if not, it is asked for a permission."""

    name = "align-first"
    client_methods = McpProxy.client_methods | {PROMPT}
    agent_methods = McpProxy.agent_methods | ACTION_METHODS | {_ASK}

    def __init__(self, *, takes_questions: bool) -> None:
        super().__init__()
        self._takes_questions = takes_questions
        self._guarded: list[ChainSession] = []
        self._agreed: dict[str, _Answer] = {}

    def servers(self, session: ChainSession) -> Sequence[InProcessServer]:
        if session.placed.reads_only is True:
            return ()
        self._guarded.append(session)
        align = Tool(
            "align", _ALIGN, schema_of(AlignQuery), self._align, title="Align with the person", read_only=True
        )
        return (ToolServer(SERVER_NAME, [align], instructions=_INSTRUCTIONS),)

    def forget(self, session: ChainSession) -> None:
        super().forget(session)
        if session in self._guarded:
            self._guarded.remove(session)
        self._agreed.pop(session.session_id or "", None)

    def from_client(self, message: Message) -> None:
        if message.method == PROMPT:
            self.node.send_right(self._prompted(message))
        else:
            super().from_client(message)

    def _prompted(self, message: Message) -> Message:
        """The prompt with a word to the agent. A yes holds for one prompt, unless it was given for the session."""
        session_id = read_session_id(message.params) or ""
        if not self._is_guarded(session_id) or self._agreed.get(session_id) is _Answer.YES_FOR_SESSION:
            return message
        self._agreed.pop(session_id, None)
        prompt = PromptMessage.read(message)
        if prompt is None or prompt.command is not None:
            return message
        return prompt.with_context(_CONTEXT)

    def from_agent(self, message: Message) -> None:
        if message.method == _ASK and message.is_request:
            self._permit(message)
        elif message.method in ACTION_METHODS and message.is_request:
            self._act(message)
        else:
            super().from_agent(message)

    def _permit(self, message: Message) -> None:
        try:
            asked = decode(message.params, acp.RequestPermissionRequest)
        except msgspec.DecodeError:
            self.node.send_left(message)  # The broker refuses it.
            return
        call = asked.tool_call
        harmless = call.kind in _HARMLESS or from_meta(call.meta, ToolCallMeta).read_only
        if harmless or self._has_agreed(asked.session_id):
            self.node.send_left(message)
            return
        self._show_refusal(asked.session_id, call.title or call.tool_call_id)
        reject = PermissionOptions(asked.options).reject
        if reject is None:
            self.refuse_agent(message, RpcError(INVALID_REQUEST, _REFUSED))
            return
        chosen = acp.SelectedPermissionOutcome(option_id=reject)
        self.answer_agent(message, acp.RequestPermissionResponse(outcome=chosen))

    def _act(self, message: Message) -> None:
        requested = read_client_request(message, "")
        if requested is None or self._has_agreed(requested.session_id):
            self.node.send_left(message)
            return
        self._show_refusal(requested.session_id, requested.call.title or "")
        self.refuse_agent(message, RpcError(INVALID_REQUEST, _REFUSED))

    def _is_guarded(self, session_id: str) -> bool:
        return any(session.session_id == session_id for session in self._guarded)

    def _has_agreed(self, session_id: str) -> bool:
        """Whether changes may be made in a session. One that an agent opened by itself may if all others may."""
        if self._is_guarded(session_id):
            return session_id in self._agreed
        return all(session.session_id in self._agreed for session in self._guarded)

    def _show_refusal(self, session_id: str, title: str) -> None:
        """Let every door show what was refused, and why."""
        why = "Refused: you have not agreed yet to what the agent understood."
        card = acp.ToolCall(
            tool_call_id=f"portico-align-{secrets.token_hex(8)}",
            title=f"Not before your yes: {title}",
            kind="think",
            status="failed",
            content=[acp.Content(content=acp.TextContent(text=why))],
        )
        self.tell_client("session/update", acp.SessionNotification(session_id=session_id, update=card))

    async def _align(self, call: ToolCall) -> str:
        asked = call.read(AlignQuery)
        if call.session_id is None:
            raise ToolFailure("The session is still being opened. Call again in your turn.")
        words = "\n\n".join(filter(None, (asked.understanding, asked.plan)))
        waiting = asyncio.create_task(_report_waiting(call), name="progress of align")
        try:
            answer, comment = await _ask_person(self, call.session_id, words, form=self._takes_questions)
        finally:
            waiting.cancel()
        said = f" They say: {comment}" if comment else ""
        if answer is _Answer.NO:
            self._agreed.pop(call.session_id, None)
            raise ToolFailure(f"The person did not agree.{said} Change nothing; ask, or align again.")
        self._agreed[call.session_id] = answer
        return f"The person agrees.{said} Go ahead."


async def _report_waiting(call: ToolCall) -> None:
    """Tell the agent that the person has not answered yet: many give a tool a minute, unless it makes progress."""
    passed = 0.0
    while True:
        call.progress(passed, message="Waiting for the person")
        await asyncio.sleep(_PROGRESS_SECONDS)
        passed += _PROGRESS_SECONDS
