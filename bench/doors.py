"""One stream of an agent through the doors of one server: AgentService, the agent host, and a remote chain.

Each door starts a session, sends a prompt to which the agent answers with many small updates, and reads to the end.
"""

import http.client
import json
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, Ping, Request, TextMessage

from bench.children import PORTICO, environment
from bench.report import Line, MeasurementFailed, Section, ratio
from bench.samples import sample, take_turns
from portico.testing import scripted_agent_command

ROUNDS = 5
UPDATES, SIZE = 5000, 40
PROMPT = f"stream {UPDATES} {SIZE}"
_DEADLINE = 60.0
_READ = 1 << 16


class _Passed(msgspec.Struct, frozen=True):
    """Seconds from the prompt to the first text, and to the end of the turn."""

    first: float
    end: float

    @property
    def rate(self) -> float:
        return UPDATES / self.end


class _Server(msgspec.Struct, frozen=True):
    port: int
    token: str
    workspace: Path


def measure_agent_host() -> Section:
    return _measure("Agent host", "/ahp", _through_agent_host)


def measure_remote() -> Section:
    return _measure("Remote chain", "/acp", _through_remote_chain)


def _measure(title: str, path: str, run: "Callable[[_Server], _Passed]") -> Section:
    with _serving() as server:
        service, other = take_turns(
            {"service": partial(_through_service, server), "other": partial(run, server)}, ROUNDS
        ).values()
    rates = [sample(one, lambda passed: passed.rate) for one in (service, other)]
    firsts = [sample(one, lambda passed: passed.first) for one in (service, other)]
    return Section(
        title=f"{title}: {UPDATES:,} updates of {SIZE} characters at {path}, beside AgentService over Connect",
        lines=(
            Line(what="AgentService, updates", samples=rates[0], unit="per second"),
            Line(what=f"{path}, updates", samples=rates[1], unit="per second"),
            ratio(f"{path} over AgentService", rates[1], rates[0]),
            Line(what="AgentService, first text", samples=firsts[0], unit="seconds"),
            Line(what=f"{path}, first text", samples=firsts[1], unit="seconds"),
        ),
        notes=("From the prompt on, in a session whose agent is running. JSON in every door.",),
    )


@contextmanager
def _serving() -> Iterator[_Server]:
    """A server of its own whose agent streams."""
    with tempfile.TemporaryDirectory() as folder:
        home, workspace = Path(folder) / "home", Path(folder) / "workspace"
        workspace.mkdir()
        environ = environment(home)
        program, *args = scripted_agent_command()
        settings = Path(environ["PORTICO_HOME"]) / "config/settings.json"
        settings.parent.mkdir(parents=True, exist_ok=True)
        agents = {"streaming": {"command": program, "args": args}}
        settings.write_text(json.dumps({"agents": agents, "agent": "streaming"}))
        words = (PORTICO, "serve", "--detach", "--api", "--cwd", str(workspace))
        done = subprocess.run(words, env=environ, capture_output=True, text=True, check=False)
        if done.returncode:
            raise MeasurementFailed(f"the server did not start: {done.stderr or done.stdout}")
        told = json.loads(done.stdout)
        try:
            yield _Server(told["port"], Path(told["tokenFile"]).read_text().strip(), workspace)
        finally:
            subprocess.run((PORTICO, "stop"), env=environ, capture_output=True, check=False)


def _through_service(server: _Server) -> _Passed:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=_DEADLINE)
    headers = {"authorization": f"Bearer {server.token}"}

    def ask(method: str, request: Any) -> Any:
        kind = {"content-type": "application/json"}
        connection.request(
            "POST", f"/portico.v1.AgentService/{method}", json.dumps(request), {**headers, **kind}
        )
        return json.loads(connection.getresponse().read())

    session = ask("StartSession", {"workspace": str(server.workspace)})["session"]["summary"]["sessionId"]
    ask("ResumeSession", {"sessionId": session})
    body = json.dumps({"sessionId": session, "text": PROMPT}).encode()
    framed = b"\x00" + len(body).to_bytes(4, "big") + body
    begun, first = time.perf_counter(), 0.0
    connection.request(
        "POST",
        "/portico.v1.AgentService/Invoke",
        framed,
        {**headers, "content-type": "application/connect+json"},
    )
    answer = connection.getresponse()
    while True:
        head = answer.read(5)
        if len(head) != 5:
            raise MeasurementFailed("the stream of the service broke off")
        message = answer.read(int.from_bytes(head[1:], "big"))
        if not first and b'"textDelta"' in message:
            first = time.perf_counter() - begun
        if head[0] & 2:
            connection.close()
            return _Passed(first, time.perf_counter() - begun)


class _Socket:
    """A WebSocket client that reads JSON messages."""

    def __init__(self, server: _Server, path: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", server.port), timeout=_DEADLINE)
        self._frames = WSConnection(ConnectionType.CLIENT)
        token = (b"authorization", f"Bearer {server.token}".encode())
        opening = Request(host=f"127.0.0.1:{server.port}", target=path, extra_headers=[token])
        self._socket.sendall(self._frames.send(opening))
        self._events = self._read()
        if not isinstance(next(self._events), AcceptConnection):
            raise MeasurementFailed(f"{path} refused the connection")

    def send(self, **message: Any) -> None:
        text = json.dumps({"jsonrpc": "2.0", **message})
        self._socket.sendall(self._frames.send(TextMessage(data=text)))

    def until(self, fragment: str) -> str:
        """The next message that has this in it."""
        text = ""
        for event in self._events:
            if isinstance(event, TextMessage):
                text += event.data
                if event.message_finished:
                    if fragment in text:
                        return text
                    text = ""
            elif isinstance(event, Ping):
                self._socket.sendall(self._frames.send(event.response()))
        raise MeasurementFailed(f"the socket ended before {fragment!r}")

    def close(self) -> None:
        self._socket.close()

    def _read(self) -> Iterator[Any]:
        while data := self._socket.recv(_READ):
            self._frames.receive_data(data)
            yield from self._frames.events()


_COUNTER = iter(range(1, 1_000_000))


def _through_agent_host(server: _Server) -> _Passed:
    peer, name = _Socket(server, "/ahp"), f"bench-{next(_COUNTER)}"
    session, chat = f"streaming:/{name}", f"ahp-chat:/{name}"
    root = "ahp-root://"
    peer.send(
        id=1,
        method="initialize",
        params={"channel": root, "protocolVersions": ["1.0.0"], "clientId": name},
    )
    folder = server.workspace.as_uri()
    peer.send(id=2, method="createSession", params={"channel": session, "workingDirectories": [folder]})
    peer.send(id=3, method="subscribe", params={"channel": chat})
    peer.until('"id":3')
    _start_agent(chat, peer)
    action = {
        "type": "chat/turnStarted",
        "turnId": "t",
        "startedAt": "2026-01-01T00:00:00.000Z",
        "message": {"text": PROMPT, "origin": {"kind": "user"}},
    }
    begun = time.perf_counter()
    peer.send(method="dispatchAction", params={"channel": chat, "clientSeq": 1, "action": action})
    peer.until("chat/responsePart")
    first = time.perf_counter() - begun
    peer.until("chat/turnComplete")
    ended = time.perf_counter() - begun
    peer.close()
    return _Passed(first, ended)


def _start_agent(chat: str, peer: _Socket) -> None:
    """A turn before the one that is measured, so that the agent runs."""
    action = {
        "type": "chat/turnStarted",
        "turnId": "first",
        "startedAt": "2026-01-01T00:00:00.000Z",
        "message": {"text": "say hello", "origin": {"kind": "user"}},
    }
    peer.send(method="dispatchAction", params={"channel": chat, "clientSeq": 0, "action": action})
    peer.until("chat/turnComplete")


def _through_remote_chain(server: _Server) -> _Passed:
    peer = _Socket(server, "/acp")
    peer.send(id=1, method="initialize", params={"protocolVersion": 1, "clientCapabilities": {}})
    peer.until('"id":1')
    peer.send(id=2, method="session/new", params={"cwd": str(server.workspace), "mcpServers": []})
    session = json.loads(peer.until('"id":2'))["result"]["sessionId"]
    prompt = [{"type": "text", "text": PROMPT}]
    begun = time.perf_counter()
    peer.send(id=3, method="session/prompt", params={"sessionId": session, "prompt": prompt})
    peer.until("agent_message_chunk")
    first = time.perf_counter() - begun
    peer.until('"id":3')
    ended = time.perf_counter() - begun
    peer.close()
    return _Passed(first, ended)
