"""The question whether the agent has understood: a form, or a permission request where a client shows no forms."""

import secrets
from enum import StrEnum

import msgspec

from portico.acp import _schema as acp
from portico.acp.lenient_decoder import decode
from portico.components.permission import request_permission
from portico.conductor.proxy import Proxy
from portico.mcp.tools import ToolFailure
from portico.rpc.messages import RpcError


class Answer(StrEnum):
    YES = "yes"
    YES_FOR_SESSION = "session"
    NO = "no"


_WORDS = {
    Answer.YES: "Yes, go ahead",
    Answer.YES_FOR_SESSION: "Yes, and do not ask again in this session",
    Answer.NO: "No",
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
    acp.PermissionOption(option_id=Answer.YES.value, name=_WORDS[Answer.YES], kind="allow_once"),
    acp.PermissionOption(option_id=Answer.NO.value, name=_WORDS[Answer.NO], kind="reject_once"),
]


async def ask_person(proxy: Proxy, session_id: str, words: str, *, form: bool) -> tuple[Answer, str]:
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
    return (Answer.YES if chosen == Answer.YES.value else Answer.NO), ""


async def _ask_by_form(proxy: Proxy, session_id: str, words: str) -> tuple[Answer, str]:
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
    chosen = content.get(_ANSWER) if answered.action == "accept" else Answer.NO.value
    answer = Answer(chosen) if chosen in list(Answer) else Answer.NO
    return answer, comment.strip() if isinstance(comment, str) else ""
