"""Proxy that tells the person what is wrong with the chain, in each session that is affected."""

import secrets
from collections.abc import Sequence

import msgspec

from portico.acp import _schema as acp
from portico.acp.lenient_decoder import decode
from portico.acp.session_id import read_session_id
from portico.conductor.proxy import Proxy
from portico.rpc.messages import Message

_PROMPT = "session/prompt"


class ChainNotices(Proxy):
    """Stands next to the client. Costs nothing until there is something to say.

    A notice is sent with the next prompt of every session that has not received it. To clients that do not take notices
    it is a tool call: the only update that every editor displays.
    """

    name = "notices"
    client_methods = frozenset({"initialize"})

    def __init__(self) -> None:
        super().__init__()
        self._takes_notices = False
        self._standing: dict[str, str] = {}
        self._waiting: dict[str, list[str]] = {}
        self._told: set[tuple[str, str]] = set()

    def report(self, subject: str, problem: str | None) -> None:
        """Set the problem of a subject; None if it is solved."""
        self._standing.pop(subject, None)
        if problem is not None:
            self._standing[subject] = problem
            self.client_methods = ChainNotices.client_methods | {_PROMPT}

    def tell_session(self, session_id: str | None, problems: Sequence[str]) -> None:
        """Tell one session with its next prompt."""
        if session_id is not None and problems:
            self._waiting.setdefault(session_id, []).extend(problems)
            self.client_methods = ChainNotices.client_methods | {_PROMPT}

    def from_client(self, message: Message) -> None:
        if message.method == _PROMPT:
            if (session_id := read_session_id(message.params)) is not None:
                self._tell(session_id)
        else:
            self._learn(message)
        self.node.send_right(message)

    def _learn(self, initialize: Message) -> None:
        try:
            client = decode(initialize.params, acp.InitializeRequest).client_capabilities
        except msgspec.DecodeError:
            return
        self._takes_notices = client.session is not None and client.session.notices is not None

    def _tell(self, session_id: str) -> None:
        for problem in (*self._waiting.pop(session_id, ()), *self._standing.values()):
            if (session_id, problem) in self._told:
                continue
            self._told.add((session_id, problem))
            update: acp.SessionUpdate = (
                acp.Notice(severity="warning", title=problem)
                if self._takes_notices
                else portico_call(problem, problem, "completed")
            )
            self.tell_client("session/update", acp.SessionNotification(session_id=session_id, update=update))


def portico_call(title: str, body: str, status: acp.ToolCallStatus) -> acp.ToolCall:
    """A tool call of Portico's own, with an ID that no agent uses."""
    content = acp.Content(content=acp.TextContent(text=body))
    return acp.ToolCall(
        tool_call_id=f"portico-{secrets.token_hex(6)}", title=title, status=status, content=[content]
    )
