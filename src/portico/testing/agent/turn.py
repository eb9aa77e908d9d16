"""One request while the scripted agent answers it: its steps and how it ends."""

from __future__ import annotations

import threading
import time
from queue import Empty

from portico.testing.agent import files
from portico.testing.agent.wire import error_object, params_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from queue import SimpleQueue

    from portico.testing.agent.server import ScriptedAgent
    from portico.testing.agent.sessions import ScriptedSession
    from portico.testing.agent.wire import Json

# How long a wait may sleep before it looks whether the client is still there.
LOOK_UP = 0.05
POLL_FILE = 0.002

INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL = -32603
REQUEST_CANCELLED = -32800
AUTH_REQUIRED = -32000
NOT_FOUND = -32002


class ScriptedRefusal(Exception):
    """The request is answered with an error."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.error = error_object(code, message, data)


class TurnCancelled(Exception):
    """The client stopped the turn."""


class ScriptedTurn:
    def __init__(self, agent: ScriptedAgent, message: Json) -> None:
        self.agent = agent
        self.wire = agent.wire
        self.request_id: object = message["id"]
        self.method: str = message["method"]
        self.params = params_of(message)
        self.cancel = threading.Event()
        self.withdrawn = False
        self.session: ScriptedSession | None = None
        self.words = ""
        self.prompt = ""
        self.result: Json = {}
        self.on_success: Callable[[], None] | None = None
        self.answered = False
        self._stoppable = True
        self._calls = 0

    # How it goes on

    def play(self, steps: list[Json]) -> None:
        """Do the steps and answer: once at the end, unless a step has answered already."""
        try:
            try:
                self.run(steps)
                self.check()
            except TurnCancelled:
                self.run_to_the_end(self.agent.script.get("on_cancel", []))
                self._finish_cancelled()
        except ScriptedRefusal as refused:
            self.answer(error=refused.error)
        if not self.answered:
            self.answer()

    def run(self, steps: list[Json]) -> None:
        for step in steps:
            self.check()
            ((name, argument),) = step.items()
            self.agent.verbs[name].action(self, argument)
            if self.session is not None:
                self.session.save()

    def run_to_the_end(self, steps: list[Json]) -> None:
        """Steps that belong to the stopping itself, and so are not stopped."""
        stoppable, self._stoppable = self._stoppable, False
        self.run(steps)
        self._stoppable = stoppable

    def answer(self, *, result: object = None, error: object = None) -> None:
        # The client may prompt again the moment it reads this, so the session is free before.
        self.agent.release(self)
        self.answered = True
        if error is None and self.on_success is not None:
            self.on_success()
        self.wire.respond(self.request_id, result=self.result if result is None else result, error=error)

    def _finish_cancelled(self) -> None:
        if self.withdrawn and not self.answered:
            raise ScriptedRefusal(REQUEST_CANCELLED, "Request cancelled")
        self.result = {"stopReason": "cancelled"}

    # What steps use

    @property
    def cwd(self) -> str:
        return self.session.cwd if self.session is not None else "."

    def path(self, path: str) -> str:
        return files.absolute(path, self.cwd)

    def next_call(self) -> str:
        """An id for a tool call whose step names none."""
        self._calls += 1
        return f"call-{self.request_id}-{self._calls}"

    def say(self, text: str) -> None:
        self.update({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})

    def update(self, update: Json) -> None:
        if self.session is None:
            raise ScriptedRefusal(INTERNAL, f"{self.method} has no session to send an update to")
        self.session.record(update)
        self.wire.notify("session/update", {"sessionId": self.session.id, "update": update})

    def ask(self, method: str, **params: object) -> Json:
        """A request to the client, and its answer. A stopped turn still waits: the client owes every answer."""
        session = {} if self.session is None else {"sessionId": self.session.id}
        return self.await_answer(self.wire.request(method, session | params), lambda: None)

    def await_answer(self, answers: SimpleQueue[Json], meanwhile: Callable[[], None]) -> Json:
        while True:
            try:
                return answers.get(timeout=LOOK_UP)
            except Empty:
                self.agent.leave_if_alone()
                meanwhile()

    # Where steps can be stopped

    def check(self) -> None:
        if self._stoppable and self.cancel.is_set():
            raise TurnCancelled

    def rest(self, seconds: float) -> None:
        """Let time pass, until it has or the turn is stopped."""
        until = time.monotonic() + seconds
        pause = self.cancel.wait if self._stoppable else time.sleep
        while (left := until - time.monotonic()) > 0:
            pause(min(left, LOOK_UP))
            self.agent.leave_if_alone()
            self.check()

    def wait_for_file(self, path: str) -> None:
        while not files.exists(self.path(path)):
            self.rest(POLL_FILE)
