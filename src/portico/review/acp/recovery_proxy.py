"""Proxy for direct mode: recovers a workspace from interrupted applies before an agent works in it.

In the other review modes `ReviewProxy` opens a review, which sees to that.
"""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import msgspec

from portico.acp import _schema as acp
from portico.conductor.session_folders import SessionFoldersProxy
from portico.domain import codecs
from portico.domain.errors import PorticoError
from portico.domain.events import AnyPayload, Notice
from portico.review.files.leftovers import has_leftovers
from portico.rpc.messages import CANCEL_REQUEST, INTERNAL_ERROR, Message, RpcError

Recover = Callable[[Path], Awaitable[Sequence[AnyPayload]]]

_CANCEL = frozenset({"session/cancel", CANCEL_REQUEST})


class _Named(msgspec.Struct, frozen=True, rename="camel"):
    cwd: str | None = None
    session_id: str | None = None


class RecoveryProxy(SessionFoldersProxy):
    """Holds client messages while a workspace is recovered. `folder` is where reviews keep their state.

    `pending` are notices from before the first session was opened.
    """

    name = "settlement"
    client_methods = SessionFoldersProxy.client_methods | {"session/prompt"} | _CANCEL

    def __init__(self, folder: Path, recover: Recover, pending: Sequence[Notice] = ()) -> None:
        super().__init__()
        self._folder = folder
        self._recover = recover
        self._pending = list(pending)
        self._held: list[Message] = []

    def from_client(self, message: Message) -> None:
        if self._held:
            self._held.append(message)
        elif message.method not in _CANCEL and (self._pending or has_leftovers(self._folder)):
            self._held.append(message)
            self.node.spawn(self._let_go(), "recovering a folder")
        else:
            super().from_client(message)

    async def _let_go(self) -> None:
        """Pass on the held messages in order, each once its workspace is recovered."""
        while self._held:
            message = self._held[0]
            try:
                if message.method not in _CANCEL:
                    await self._recover_folder(message)
                super().from_client(message)
            except PorticoError as error:
                words = " ".join(filter(None, (error.message, error.suggestion)))
                self.refuse_client(message, RpcError(INTERNAL_ERROR, words))
            finally:
                del self._held[0]

    async def _recover_folder(self, message: Message) -> None:
        try:
            asked = codecs.decode_json(message.params, _Named)
        except msgspec.DecodeError:
            return
        known = None if asked.session_id is None else self.folders.get(asked.session_id)
        folder = known.cwd if known is not None else asked.cwd
        if folder is None:
            return
        notices = await self._recover(Path(folder))
        self._pending += [one for one in notices if isinstance(one, Notice) and one not in self._pending]
        if known is not None and asked.session_id is not None:
            # Late: most chains of an editor recover nothing, and have to start quickly.
            from portico.review.acp.notice import notice_call

            while self._pending:
                call = notice_call(self._pending.pop(0), asked.session_id)
                self.tell_client(
                    "session/update", acp.SessionNotification(session_id=asked.session_id, update=call)
                )
