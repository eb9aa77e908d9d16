"""A loopback server before a model's endpoint that counts the tokens of each request, whichever program asks."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

_SILENCE_SECONDS = 1800.0


class TokenCounter:
    """Passes requests for chat completions on, and adds up the usage that the endpoint reports."""

    def __init__(self, address: str, key: str) -> None:
        self._address = address
        self._key = key
        self._lock = Lock()
        self._tokens = 0
        self.own_address = ""

    def consume(self) -> int:
        """Return the tokens since the last call of this."""
        with self._lock:
            tokens, self._tokens = self._tokens, 0
        return tokens

    def open(self, path: str, body: bytes) -> Any:
        """Return the endpoint's response, which is to be closed."""
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._key}"}
        target = f"{self._address}{path.removeprefix('/v1')}"
        return urllib.request.urlopen(
            urllib.request.Request(target, _with_usage(body) or None, headers), timeout=_SILENCE_SECONDS
        )

    def count(self, line: bytes) -> None:
        try:
            usage = json.loads(line.removeprefix(b"data: ")).get("usage") or {}
        except ValueError:
            return
        with self._lock:
            self._tokens += usage.get("prompt_tokens", 0) + usage.get("completion_tokens", 0)


@contextmanager
def count_tokens(address: str, key: str) -> Iterator[TokenCounter]:
    """Serve on a loopback port while the context is open."""
    counter = TokenCounter(address, key)

    class Handler(_Handler):
        tokens = counter

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        counter.own_address = f"http://127.0.0.1:{server.server_port}/v1"
        thread = Thread(target=server.serve_forever, name="token counter")
        thread.start()
        try:
            yield counter
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    """The end of the connection is the end of a response."""

    tokens: TokenCounter

    def do_GET(self) -> None:
        self._pass_on(b"")

    def do_POST(self) -> None:
        self._pass_on(self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def _pass_on(self, body: bytes) -> None:
        try:
            response = self.tokens.open(self.path, body)
        except urllib.error.HTTPError as error:
            response = error
        except urllib.error.URLError as error:
            self.send_error(502, f"The endpoint is gone: {error.reason}")
            return
        with response:
            self.send_response(response.status)
            self.send_header("Content-Type", response.headers.get("Content-Type", "application/json"))
            self.end_headers()
            try:
                for line in response:
                    self.tokens.count(line)
                    self.wfile.write(line)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # The program has seen enough, or was stopped.

    def log_message(self, format: str, *_words: object) -> None:  # noqa: A002 - the name of the base class
        """Say nothing: the bench prints its own results."""


def _with_usage(body: bytes) -> bytes:
    """Ask for the usage at the end of a stream, which many programs do not."""
    if not body:
        return body
    wanted = json.loads(body)
    if wanted.get("stream"):
        wanted["stream_options"] = {"include_usage": True}
    return json.dumps(wanted).encode()
