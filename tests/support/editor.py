"""An editor in the test's own hands: JSON-RPC on the pipes of a `portico acp`, and what stands behind it."""

import json
import os
import select
import shlex
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.program import Portico, Ran
from tests.support.stream import Json

PEERS = Path(__file__).parents[1] / "peers"
DEADLINE = 30.0
_ALL_FILES = {"fs": {"readTextFile": True, "writeTextFile": True}}


def node() -> str:
    found = shutil.which("node")
    assert found is not None, "the tests need Node"
    return found


def typescript_agent(portico: Portico) -> str:
    """The command of the TypeScript agent; its conversations outlive it."""
    return shlex.join([node(), str(PEERS / "acp_agent.mjs"), str(portico.home / "conversations")])


def proxy_settings(**proxies: tuple[str, ...]) -> Json:
    """Settings in which each name is the Node proxy with that mark, and with these words more."""
    script = str(PEERS / "acp_proxy.mjs")
    return {
        "proxies": {
            name: {"command": node(), "args": [script, name, *words]} for name, words in proxies.items()
        }
    }


class Editor:
    """Sends what it is told to, and keeps all it hears in `heard`."""

    def __init__(
        self,
        portico: Portico,
        *flags: str,
        command: str = "acp",
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.portico = portico
        self.running = portico.start(command, *flags, stdin=subprocess.PIPE, environ=environ)
        self.heard: list[Json] = []
        self.capabilities: Json = _ALL_FILES
        self._unread: list[bytes] = []
        self._rest = b""
        self._last_id = 0

    def send(self, *messages: Json | bytes) -> None:
        assert self.running.process.stdin is not None
        for message in messages:
            line = message if isinstance(message, bytes) else json.dumps(message).encode()
            self.running.process.stdin.write(line + b"\n")

    def request(self, method: str, params: Any) -> int:
        """Ask, and do not wait; the id of the request."""
        self._last_id += 1
        self.send({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})
        return self._last_id

    def receive(self) -> Json:
        """The next message. EOFError when there is none any more."""
        deadline = time.monotonic() + DEADLINE
        while not self._unread:
            self._read_some(deadline - time.monotonic())
        message: Json = json.loads(self._unread.pop(0))
        self.heard.append(message)
        return message

    def answer_to(self, request_id: object) -> Json:
        """Receive up to the answer to a request."""
        while (message := self.receive()).get("id") != request_id or "method" in message:
            pass
        return message

    def call(self, method: str, params: Any) -> Json:
        return self.answer_to(self.request(method, params))

    def initialize(self) -> Json:
        return self.call("initialize", {"protocolVersion": 1, "clientCapabilities": self.capabilities})

    def open_session(self) -> str:
        """Shake hands if need be, and make a session in the workspace."""
        if self._last_id == 0:
            assert "result" in self.initialize()
        made = self.call("session/new", {"cwd": str(self.portico.workspace), "mcpServers": []})
        return str(made["result"]["sessionId"])

    def prompt(self, session_id: str, text: str) -> int:
        params = {"sessionId": session_id, "prompt": [{"type": "text", "text": text}]}
        return self.request("session/prompt", params)

    def until_said(self, text: str) -> None:
        """Receive up to an update in which the agent says this."""
        while text not in said([self.receive()]):
            pass

    def hang_up(self) -> Ran:
        """Close the program's input, and wait for its end."""
        return self.running.end()

    def _read_some(self, seconds: float) -> None:
        assert self.running.process.stdout is not None
        descriptor = self.running.process.stdout.fileno()
        assert select.select([descriptor], [], [], max(0, seconds))[0], f"nothing came; heard {self.heard}"
        chunk = os.read(descriptor, 1 << 20)
        if not chunk:
            raise EOFError
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        self._unread += lines


def said(messages: list[Json], session_id: str | None = None) -> str:
    """Text of the agent in these messages, in one session or in all."""
    text = ""
    for message in messages:
        params = message.get("params", {})
        update = params.get("update", {})
        if update.get("sessionUpdate") == "agent_message_chunk" and session_id in (None, params["sessionId"]):
            text += update["content"]["text"]
    return text
