"""A raw little ACP client for one agent process: lines of JSON over pipes, each wait with a deadline.

It follows every frame with a FrameChecker, so the scripted agent is proved honest wherever it is not told to lie.
"""

import json
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Self

from portico.testing import FrameChecker, FrameProblem
from tests.acp.schema_examples import SCHEMA

DEADLINE = 30

Json = dict[str, Any]


class Driver:
    def __init__(self, command: Sequence[str], cwd: Path) -> None:
        self.cwd = cwd
        self.process = subprocess.Popen(
            command, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.session = ""
        self.seen: list[Json] = []
        self.problems: list[FrameProblem] = []
        self.serves: dict[str, Callable[[Json], Json]] = {}
        self._checker = FrameChecker(SCHEMA)
        self._ids = iter(range(1, 1000))
        self._lines: SimpleQueue[bytes] = SimpleQueue()
        self._stderr = b""
        self._threads = [threading.Thread(target=self._pump), threading.Thread(target=self._drain)]
        for thread in self._threads:
            thread.start()

    # Lines

    def send(self, message: Json) -> None:
        assert self.process.stdin is not None
        line = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        self.problems += self._checker.check("received", line, "client")
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def line(self) -> bytes:
        """The next line of the agent, empty when its stdout is closed."""
        line = self._lines.get(timeout=DEADLINE)
        if line:
            self.problems += self._checker.check("sent", line, "agent")
        return line

    def receive(self) -> Json:
        """The next message; its requests are served if this client knows how."""
        line = self.line()
        assert line, f"the agent closed its stdout: {self.stderr()}"
        message: Json = json.loads(line)
        self.seen.append(message)
        if "id" in message and message.get("method") in self.serves:
            self.send({"id": message["id"], **self.serves[message["method"]](message["params"])})
        return message

    # Messages

    def request(self, method: str, **params: object) -> int:
        request_id = next(self._ids)
        self.send({"id": request_id, "method": method, "params": params})
        return request_id

    def answer_to(self, request_id: int) -> Json:
        return self.until(lambda message: "method" not in message and message["id"] == request_id)

    def until(self, wanted: Callable[[Json], bool]) -> Json:
        while True:
            message = self.receive()
            if wanted(message):
                return message

    def until_request(self, method: str) -> Json:
        return self.until(lambda message: message.get("method") == method)

    def until_update(self, kind: str) -> Json:
        found = self.until(lambda message: update_of(message).get("sessionUpdate") == kind)
        return update_of(found)

    def call(self, method: str, **params: object) -> Json:
        return self.answer_to(self.request(method, **params))

    def result(self, method: str, **params: object) -> Json:
        answer = self.call(method, **params)
        assert "result" in answer, answer
        result: Json = answer["result"]
        return result

    def open(self) -> Self:
        self.result("initialize", protocolVersion=1)
        self.session = self.result("session/new", cwd=str(self.cwd), mcpServers=[])["sessionId"]
        return self

    def prompt(self, text: str = "go on") -> int:
        return self.request("session/prompt", sessionId=self.session, prompt=[{"type": "text", "text": text}])

    def turn(self, text: str = "go on") -> str:
        """A whole prompt; why it stopped."""
        answer = self.answer_to(self.prompt(text))
        assert "result" in answer, answer
        reason: str = answer["result"]["stopReason"]
        return reason

    def cancel(self) -> None:
        self.send({"method": "session/cancel", "params": {"sessionId": self.session}})

    # What was seen

    def updates(self) -> list[Json]:
        return [update_of(message) for message in self.seen if update_of(message)]

    def kinds(self) -> list[str]:
        return [update["sessionUpdate"] for update in self.updates()]

    def said(self, kind: str = "agent_message_chunk") -> str:
        return "".join(
            update["content"]["text"] for update in self.updates() if update["sessionUpdate"] == kind
        )

    def honest(self) -> bool:
        """Whether nothing that the agent sent so far was against the schema."""
        return not [problem for problem in self.problems if problem.sender == "agent"]

    # The process

    def stderr(self) -> str:
        """Everything it said on stderr; known when it has ended."""
        self._threads[1].join(DEADLINE)
        return self._stderr.decode()

    def exit_code(self) -> int:
        return self.process.wait(DEADLINE)

    def hang_up(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def close(self) -> None:
        self.process.kill()
        self.process.wait(DEADLINE)
        self.hang_up()
        for thread in self._threads:
            thread.join(DEADLINE)
        for pipe in (self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()

    def _pump(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def _drain(self) -> None:
        assert self.process.stderr is not None
        self._stderr = self.process.stderr.read()


def update_of(message: Json) -> Json:
    if message.get("method") != "session/update":
        return {}
    update: Json = message["params"]["update"]
    return update
