"""Notices for the person of an ACP editor, shown as tool calls: the only update that every editor displays."""

import secrets

from portico.acp import _schema as acp
from portico.domain.events import Notice
from portico.review.acp.proposal_card import restore_hint, text


def notice_call(notice: Notice, session_id: str) -> acp.ToolCall:
    """A completed tool call with the text of a notice, and how to restore the checkpoint that it names."""
    body = notice.details or notice.text
    if notice.checkpoint_id is not None:
        body += f"\n\n{restore_hint(notice.checkpoint_id, session_id)}"
    return own_call(notice.text, body, "completed")


def own_call(title: str, body: str, status: acp.ToolCallStatus) -> acp.ToolCall:
    """A tool call of Portico's own, with an ID that no agent uses."""
    call_id = f"portico-{secrets.token_hex(6)}"
    return acp.ToolCall(tool_call_id=call_id, title=title, status=status, content=[text(body)])
