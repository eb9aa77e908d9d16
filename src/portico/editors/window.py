"""One attached editor window: requests to it, their deadlines and their answers.

A window pulls its requests. The number of open requests is limited, and each has a deadline.
"""

import asyncio
import secrets
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from pathlib import PurePath
from typing import TypeVar, assert_never

import msgspec

from portico.domain.errors import InvalidInput, PorticoError, WindowLost, WindowRefused
from portico.domain.events import EditorReplied, EditorRequested
from portico.domain.ids import SessionId
from portico.domain.windows import (
    ApplyEdits,
    BufferText,
    CodeLookup,
    CodeLookupResult,
    ReadBuffer,
    TerminalCommand,
    TerminalCommandResult,
    ToolInvocation,
    ToolInvocationResult,
    WindowAbilities,
    WindowAction,
    WindowAttached,
    WindowEdit,
    WindowEditResult,
    WindowFailure,
    WindowIntroduction,
    WindowRequest,
    WindowRequestCancelled,
    WindowResult,
    WindowTool,
    WindowUpdate,
)
from portico.editors.window_folders import WindowFolders
from portico.processes.tasks import run_with_timeout
from portico.sessions.ports import Clock
from portico.sessions.windows import RecordWindowEvent

READ_SECONDS = 5.0
EDIT_SECONDS = 30.0
DISPATCH_SECONDS = 120.0
"""Time for a person to confirm a command in a terminal."""
TOOL_SECONDS = 600.0
MOST_OPEN = 64
MOST_TOOLS = 200
MOST_SESSIONS = 64
"""Sessions with a list of tools of their own; the oldest goes first."""

Answer = TypeVar(
    "Answer", BufferText, WindowEditResult, CodeLookupResult, TerminalCommandResult, ToolInvocationResult
)


_MOST_PATHS = 100
_LONGEST = 300
_SOUGHT = {
    "definition": "Find a definition",
    "references": "Find references",
    "symbols": "List symbols",
    "hover": "Show information about a name",
    "diagnostics": "List problems",
}


class _OpenRequest:
    """An open request, and the kind of its answer."""

    def __init__(self, takes: type[WindowResult]) -> None:
        self.takes = takes
        self.answer: asyncio.Future[WindowResult] = asyncio.get_running_loop().create_future()


class AttachedWindow:
    """Implements `sessions.windows.Window`."""

    def __init__(
        self, introduction: WindowIntroduction, folders: WindowFolders, clock: Clock, tell: RecordWindowEvent
    ) -> None:
        self.id = secrets.token_urlsafe(18)
        self.folders = folders
        self.focused = False
        self.used = 0
        """Time at which the person last used it."""
        self._introduction = introduction
        self._clock = clock
        self._tell = tell
        self._unsaved: frozenset[str] = frozenset()
        self._tools: dict[SessionId | None, tuple[WindowTool, ...]] = {}
        self._open: dict[str, _OpenRequest] = {}
        self._outgoing: deque[WindowRequest | WindowRequestCancelled] = deque()
        self._news = asyncio.Event()
        self._gone = False

    @property
    def name(self) -> str:
        return self._introduction.name

    @property
    def abilities(self) -> WindowAbilities:
        return self._introduction.abilities

    def unsaved(self) -> frozenset[str]:
        return self._unsaved

    async def read(self, session_id: SessionId, path: str) -> str | None:
        question = ReadBuffer(path=self.folders.given(path))
        return (await self._ask(session_id, question, BufferText, READ_SECONDS)).text

    async def edit(self, session_id: SessionId, label: str, files: Sequence[WindowEdit]) -> WindowEditResult:
        named = [msgspec.structs.replace(file, path=self.folders.given(file.path)) for file in files]
        question = ApplyEdits(label=label, files=tuple(named))
        edited = await self._ask(session_id, question, WindowEditResult, EDIT_SECONDS)
        changed, not_saved = (
            tuple(map(self.folders.real, some)) for some in (edited.changed, edited.not_saved)
        )
        return msgspec.structs.replace(edited, changed=changed, not_saved=not_saved)

    async def look_up(self, session_id: SessionId, lookup: CodeLookup) -> CodeLookupResult:
        path = self.folders.given(lookup.path) if lookup.path else ""
        question = msgspec.structs.replace(lookup, path=path)
        found = await self._ask(session_id, question, CodeLookupResult, READ_SECONDS)
        real = self.folders.real
        return msgspec.structs.replace(
            found,
            places=tuple(msgspec.structs.replace(one, path=real(one.path)) for one in found.places),
            problems=tuple(msgspec.structs.replace(one, path=real(one.path)) for one in found.problems),
        )

    async def dispatch(self, session_id: SessionId, command: TerminalCommand) -> TerminalCommandResult:
        question = msgspec.structs.replace(command, cwd=self.folders.given(command.cwd))
        return await self._ask(session_id, question, TerminalCommandResult, DISPATCH_SECONDS)

    def tools(self, session_id: SessionId) -> Sequence[WindowTool]:
        return self._tools.get(session_id, self._tools.get(None, ()))

    async def invoke(self, session_id: SessionId, invocation: ToolInvocation) -> ToolInvocationResult:
        return await self._ask(session_id, invocation, ToolInvocationResult, TOOL_SECONDS)

    # For the door through which the window is attached.

    async def updates(self) -> AsyncGenerator[WindowUpdate]:
        """Requests for the window. Closing the generator detaches it."""
        yield WindowAttached(editor_id=self.id)
        while True:
            while self._outgoing:
                yield self._outgoing.popleft()
            self._news.clear()
            await self._news.wait()

    def waits_for(self, request_id: str) -> bool:
        waiting = self._open.get(request_id)
        return waiting is not None and not waiting.answer.done()

    def reply(self, request_id: str, answer: WindowResult) -> None:
        """Deliver an answer. InvalidInput for one of the wrong kind; the request stays open."""
        waiting = self._open[request_id]
        if not isinstance(answer, waiting.takes | WindowFailure):
            raise InvalidInput(
                f"The request {request_id} takes another kind of answer.",
                suggestion="Answer with the requested kind of result, or with failure.",
            )
        waiting.answer.set_result(answer)

    def update_status(self, unsaved: Sequence[str], *, focused: bool) -> None:
        self._unsaved = frozenset(map(self.folders.real, unsaved))
        self.focused = focused

    def update_tools(self, session_id: SessionId | None, tools: Sequence[WindowTool] | None) -> None:
        self._tools.pop(session_id, None)
        if tools is not None:
            self._tools[session_id] = tuple(tools[:MOST_TOOLS])
        of_sessions = [one for one in self._tools if one is not None]
        if len(of_sessions) > MOST_SESSIONS:
            del self._tools[of_sessions[0]]

    def leave(self) -> None:
        """Detach the window, and fail its open requests at once."""
        self._gone = True
        self._unsaved = frozenset()
        for request_id, waiting in self._open.items():
            if not waiting.answer.done():
                waiting.answer.set_exception(self._failed(request_id, "was closed before it answered"))
        self._outgoing.clear()

    async def _ask(
        self, session_id: SessionId, question: WindowAction, takes: type[Answer], seconds: float
    ) -> Answer:
        if self._gone:
            raise WindowRefused(f"The {self.name} window is closed.", suggestion="Open it again.")
        if len(self._open) >= MOST_OPEN:
            raise WindowRefused(
                f"The {self.name} window has {MOST_OPEN} requests to answer already.",
                suggestion="Try again when it has answered some.",
            )
        request_id = secrets.token_urlsafe(18)
        waiting = self._open[request_id] = _OpenRequest(takes)
        self._send(WindowRequest(request_id=request_id, session_id=session_id, question=question))
        self._tell(session_id, _request_event(request_id, self.name, question))
        outcome = EditorReplied(request_id=request_id, done=False, message="The request was abandoned.")
        try:
            answer = await self._answer(request_id, waiting, takes, seconds)
            outcome = _reply_event(request_id, answer)
            return answer
        except PorticoError as error:
            outcome = EditorReplied(request_id=request_id, done=False, message=error.message)
            raise
        finally:
            del self._open[request_id]
            if not waiting.answer.done() or waiting.answer.cancelled():
                self._withdraw(request_id)
            self._tell(session_id, outcome)

    async def _answer(
        self, request_id: str, waiting: _OpenRequest, takes: type[Answer], seconds: float
    ) -> Answer:
        async def wait() -> WindowResult:
            return await waiting.answer

        try:
            answer = await run_with_timeout(self._clock, seconds, wait())
        except TimeoutError as error:
            raise self._failed(request_id, f"did not answer within {seconds:g} s") from error
        if not isinstance(answer, takes):
            said = answer.message if isinstance(answer, WindowFailure) else ""
            raise WindowRefused(said or f"The {self.name} window could not do it, and did not say why.")
        return answer

    def _withdraw(self, request_id: str) -> None:
        """Remove a request that the window has not read yet, or cancel one that it has."""
        if self._is_untold(request_id):
            self._outgoing = deque(one for one in self._outgoing if one.request_id != request_id)
        elif not self._gone:
            self._send(WindowRequestCancelled(request_id=request_id))

    def _send(self, message: WindowRequest | WindowRequestCancelled) -> None:
        self._outgoing.append(message)
        self._news.set()

    def _is_untold(self, request_id: str) -> bool:
        return any(one.request_id == request_id for one in self._outgoing)

    def _failed(self, request_id: str, how: str) -> WindowLost | WindowRefused:
        """WindowRefused for a request that was never sent; WindowLost for any other, whose outcome is unknown."""
        kind = WindowRefused if self._is_untold(request_id) else WindowLost
        return kind(
            f"The {self.name} window {how}.",
            suggestion="Check whether it is still open and responds; reload it if not.",
        )


def _request_event(request_id: str, editor: str, question: WindowAction) -> EditorRequested:
    paths: tuple[str, ...] = ()
    match question:
        case ReadBuffer(path=path):
            title, paths = f"Read the unsaved text of {_name(path)}", (path,)
        case ApplyEdits(label=label, files=files):
            title, paths = label, tuple(file.path for file in files)
        case CodeLookup(kind=kind, path=path):
            title = f"{_SOUGHT[kind]} in {_name(path) if path else 'the workspace'}"
            paths = (path,) if path else ()
        case TerminalCommand(command=command):
            title = f"Run in a terminal: {command}"
        case ToolInvocation(name=name):
            title = f"Call the tool {name}"
        case _:
            assert_never(question)
    return EditorRequested(
        request_id=request_id, editor=editor, title=_short(title), paths=paths[:_MOST_PATHS]
    )


def _reply_event(
    request_id: str,
    answer: BufferText | WindowEditResult | CodeLookupResult | TerminalCommandResult | ToolInvocationResult,
) -> EditorReplied:
    match answer:
        case WindowEditResult(applied=False, changed=changed, not_saved=not_saved):
            names = ", ".join(map(_name, (not_saved or changed)[:_MOST_PATHS])) or "a file"
            why = "Could not be saved" if not_saved else "Changed meanwhile"
            return EditorReplied(request_id=request_id, done=False, message=_short(f"{why}: {names}."))
        case TerminalCommandResult(sent=False, message=message):
            said = _short(message) or "The command was not sent."
            return EditorReplied(request_id=request_id, done=False, message=said)
        case _:
            return EditorReplied(request_id=request_id, done=True)


def _name(path: str) -> str:
    return PurePath(path).name or path


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
