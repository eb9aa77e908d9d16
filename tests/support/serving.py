"""A user's server as other programs see it: found by its file, called over HTTP, with the token or without."""

import http.client
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import psutil

from tests.support.processes import members
from tests.support.program import Portico, Ran
from tests.support.stream import Json

PATIENCE = 30.0
SERVICE = "/portico.v1.AgentService/"


class Replied(msgspec.Struct, frozen=True):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Server:
    """Server that `server.json` leads to."""

    def __init__(self, portico: Portico) -> None:
        self.portico = portico
        self.record_file = portico.state / "server.json"
        self.token_file = portico.state / "server.token"

    @property
    def record(self) -> Json:
        found = json.loads(self.record_file.read_text())
        assert isinstance(found, dict)
        return found

    @property
    def port(self) -> int:
        return int(self.record["port"])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    @property
    def token(self) -> str:
        return Path(self.record["token_file"]).read_text().strip()

    @property
    def process(self) -> psutil.Process:
        return psutil.Process(self.record["pid"])

    def call(
        self, method: str, path: str, *, token: str | None = None, body: bytes | None = None, **more: str
    ) -> Replied:
        """One request; names of headers are written with _ for -."""
        connection = self.connect()
        try:
            connection.request(method, path, body=body, headers=_headers(token, more))
            answer = connection.getresponse()
            return Replied(answer.status, dict(answer.getheaders()), answer.read())
        finally:
            connection.close()

    def ask(self, method: str, request: Json, **headers: str) -> Json:
        """One call of the service, in JSON."""
        replied = self.call(
            "POST",
            SERVICE + method,
            token=self.token,
            body=json.dumps(request).encode(),
            content_type="application/json",
            **headers,
        )
        assert replied.status == 200, replied.body
        found = replied.json
        assert isinstance(found, dict)
        return found

    def stream(self, method: str, request: Json) -> "Streamed":
        """A streaming call of the service, in JSON."""
        connection, message = self.connect(), json.dumps(request).encode()
        headers = _headers(self.token, {"content_type": "application/connect+json"})
        body = b"\x00" + len(message).to_bytes(4, "big") + message
        connection.request("POST", SERVICE + method, body=body, headers=headers)
        answer = connection.getresponse()
        assert answer.status == 200
        return Streamed(connection, answer)

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def answers(self) -> bool:
        try:
            return self.call("GET", "/healthz").status == 200
        except OSError:
            return False

    def end(self) -> None:
        """Leave nothing behind, however the test went."""
        self.portico.run("stop")
        for process in members(self.portico.mark):
            process.kill()


class Streamed:
    """The messages of a stream, up to its proper end."""

    def __init__(self, connection: http.client.HTTPConnection, answer: http.client.HTTPResponse) -> None:
        self._connection = connection
        self._answer = answer
        self.ending: Json | None = None

    def next(self) -> Json | None:
        """The next message; None once the stream has ended as it should."""
        head = self._answer.read(5)
        assert len(head) == 5, f"the stream broke off: {head!r}"
        message = self._answer.read(int.from_bytes(head[1:], "big"))
        found: Json = json.loads(message)
        if head[0] & 2:
            self.ending = found
            assert self._answer.read() == b""
            self._connection.close()
            return None
        return found

    def end(self) -> Json:
        """Read up to the proper end; what it says."""
        while self.next() is not None:
            pass
        assert self.ending is not None
        return self.ending

    def leave(self) -> None:
        """Hang up in the middle."""
        self._answer.close()
        self._connection.close()

    def delays_until(self, words: str) -> list[float]:
        """Read up to a message that has these words in it; the seconds from each event to its arrival."""
        delays = []
        while (message := self.next()) is not None:
            if (event := message.get("event")) is not None:
                at = datetime.fromisoformat(event["at"])
                delays.append((datetime.now(UTC) - at).total_seconds())
            if words in json.dumps(message):
                return delays
        raise AssertionError(f"the stream ended without {words!r}")

    def until(self, words: str) -> None:
        """Read up to a message that has these words in it."""
        seen = []
        while (message := self.next()) is not None:
            seen.append(message)
            if words in json.dumps(message):
                return
        raise AssertionError(f"the stream ended without {words!r}: {seen}")


def detach(portico: Portico, *flags: str, **options: object) -> Ran:
    ran = portico.run("serve", "--detach", *flags, **options)  # type: ignore[arg-type]
    assert (ran.code, ran.err) == (0, ""), ran.err
    return ran


def stopped(portico: Portico) -> None:
    ran = portico.run("stop")
    assert (ran.code, ran.text) == (0, "Stopped.\n")


def _headers(token: str | None, more: dict[str, str]) -> dict[str, str]:
    known = {"authorization": f"Bearer {token}"} if token is not None else {}
    return {**known, **{name.replace("_", "-"): value for name, value in more.items()}}
