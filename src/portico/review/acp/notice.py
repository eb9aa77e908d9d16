"""Notices for the person of an ACP editor, shown as tool calls: the only update that every editor displays."""

from portico.acp import _schema as acp
from portico.conductor.proxies.notices import portico_call
from portico.domain.events import Notice
from portico.review.acp.proposal_card import restore_hint


def notice_call(notice: Notice, session_id: str) -> acp.ToolCall:
    """A completed tool call with the text of a notice, and how to restore the checkpoint that it names."""
    body = notice.details or notice.text
    if notice.checkpoint_id is not None:
        body += f"\n\n{restore_hint(notice.checkpoint_id, session_id)}"
    return portico_call(notice.text, body, "completed")
