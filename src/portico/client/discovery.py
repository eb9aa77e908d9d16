"""Finds the user's server and proves its identity by lock, process id and token.

The files of an ended server stay, and its process id and port may belong to another program by now. So the lock
must be held, and the process at the port must prove that it knows the token and has that process id. Only then is
the token sent to it.
"""

import hmac
import secrets
from collections.abc import Mapping

import msgspec

from portico.api.health import CHALLENGE_HEADER, HealthReport, ServerHealth, make_proof
from portico.config.server_files import ServerFiles, ServerRecord
from portico.domain import codecs
from portico.domain.errors import DeveloperMustAct

_PATIENCE = 5.0
"""Time limit for one answer of a server on this machine."""


class NoServer(msgspec.Struct, frozen=True):
    """No server is running."""


class UnprovenServer(msgspec.Struct, frozen=True):
    """A process that holds the lock and has not proved to be a server: it is starting, stopping or hangs."""

    holder: str


class RunningServer(msgspec.Struct, frozen=True):
    """The user's server, with the version that it reports."""

    record: ServerRecord
    token: str
    version: str

    def health(self) -> ServerHealth:
        pulse = self._call("GET", "/healthz")
        if pulse is None or pulse.health is None:
            raise DeveloperMustAct(
                f"The server at {self.record.url} is no longer responding.",
                suggestion="Try again in a moment.",
            )
        return pulse.health

    def stop(self) -> bool:
        """Ask it to stop; whether it answered. It ends by itself and is never killed."""
        return self._call("POST", "/stop") is not None

    def _call(self, method: str, path: str) -> HealthReport | None:
        return _ask(self.record.port, method, path, {"authorization": f"Bearer {self.token}"})


ServerState = NoServer | UnprovenServer | RunningServer


def find_server(files: ServerFiles) -> ServerState:
    """Whether the user's server runs, and where."""
    holder = files.holder()
    if holder is None:
        return NoServer()
    record, token = files.read_record(), files.read_token()
    if record is None or token is None:
        return UnprovenServer(holder)
    challenge = secrets.token_hex(16)
    pulse = _ask(record.port, "GET", "/healthz", {CHALLENGE_HEADER: challenge})
    proof = make_proof(token, challenge, record.pid)
    if pulse is None or pulse.proof is None or not hmac.compare_digest(pulse.proof, proof):
        return UnprovenServer(holder)
    return RunningServer(record, token, pulse.version)


def _ask(port: int, method: str, path: str, headers: Mapping[str, str]) -> HealthReport | None:
    """Answer of the process at a port, if it is one that a Portico server gives."""
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE)
    try:
        connection.request(method, path, headers=dict(headers))
        answer = connection.getresponse()
        body = answer.read(65536)
        return codecs.decode_json(body, HealthReport) if answer.status < 300 else None
    except (OSError, http.client.HTTPException, msgspec.DecodeError, UnicodeDecodeError):
        return None
    finally:
        connection.close()
