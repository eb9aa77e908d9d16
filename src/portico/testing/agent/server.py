"""Request loop and threads of the scripted agent.

One thread reads stdin, so that a cancel is seen at any time; the main one takes requests in their order; every
prompt has its own, so that sessions do not wait for each other.
"""

from __future__ import annotations

import json
import os
import threading
from queue import SimpleQueue

from portico.testing.agent.methods import ScriptedMethods
from portico.testing.agent.script import VERBS
from portico.testing.agent.turn import INTERNAL, INVALID_REQUEST, ScriptedRefusal, ScriptedTurn
from portico.testing.agent.wire import error_object, params_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from portico.testing.agent.wire import AgentWire, Json

PARSE_ERROR = -32700


class ScriptedAgent:
    def __init__(self, wire: AgentWire, script: Json, state: str | None) -> None:
        self.wire = wire
        self.script = script
        self.verbs = VERBS
        self.ignoring: set[str] = set()
        self._methods = ScriptedMethods(self, state)
        self._alone = False
        self._turns: list[ScriptedTurn] = []
        self._work: SimpleQueue[Callable[[], object]] = SimpleQueue()

    def serve(self) -> None:
        """Until the client closes stdin."""
        threading.Thread(target=self._read, name="stdin", daemon=True).start()
        while True:
            self._work.get()()

    def leave_if_alone(self) -> None:
        if self._alone and "stdin_close" not in self.ignoring:
            os._exit(0)

    def on_main_thread(self, action: Callable[[], object]) -> None:
        """Signals can be handled there alone."""
        if threading.current_thread() is threading.main_thread():
            action()
            return
        done = threading.Event()
        self._work.put(action)
        self._work.put(done.set)
        done.wait()

    def prompts_of(self, session_id: object) -> list[ScriptedTurn]:
        """The prompts of a session that are not answered yet, in the order in which they came."""
        return [
            turn
            for turn in self._turns
            if turn.method == "session/prompt" and turn.params.get("sessionId") == session_id
        ]

    def stop(self, session_id: object) -> None:
        if "cancel" not in self.ignoring:
            for turn in self.prompts_of(session_id):
                turn.cancel.set()

    def release(self, turn: ScriptedTurn) -> None:
        if turn in self._turns:
            self._turns.remove(turn)

    def _read(self) -> None:
        for line in self.wire.lines():
            try:
                message = json.loads(line)
            except (ValueError, RecursionError) as error:
                self.wire.respond(None, error=error_object(PARSE_ERROR, f"not JSON: {error}"))
                continue
            if isinstance(message, dict):
                self._receive(message)
            else:
                self.wire.respond(None, error=error_object(INVALID_REQUEST, "not an object"))
        self._alone = True
        self._work.put(self.leave_if_alone)

    def _receive(self, message: Json) -> None:
        params = params_of(message)
        match message.get("method"):
            case None:
                self.wire.settle(message)
            case "session/cancel":
                self.stop(params.get("sessionId"))
            case "$/cancel_request":
                self._withdraw(params.get("requestId"))
            case _ if "id" in message:
                # Known from here on: a cancel that comes right behind the prompt finds its turn.
                turn = ScriptedTurn(self, message)
                self._turns.append(turn)
                self._work.put(lambda: self._take(turn))
            case _:
                pass

    def _withdraw(self, request_id: object) -> None:
        for turn in [turn for turn in self._turns if turn.request_id == request_id]:
            turn.withdrawn = True
            turn.cancel.set()

    def _take(self, turn: ScriptedTurn) -> None:
        if "requests" in self.ignoring:
            return
        if turn.method == "session/prompt":
            threading.Thread(target=self._handle, args=(turn,), name="prompt", daemon=True).start()
        else:
            self._handle(turn)

    def _handle(self, turn: ScriptedTurn) -> None:
        try:
            turn.play(self._methods.prepare(turn))
        except ScriptedRefusal as refused:
            turn.answer(error=refused.error)
        except Exception as error:  # noqa: BLE001  The top of a thread: the client learns that the script went wrong.
            import traceback

            traceback.print_exc()
            turn.answer(error=error_object(INTERNAL, f"the scripted agent failed: {error!r}"))
