"""Health check of the server over HTTP: its answer, and the proof that it knows the token."""

import hashlib
import hmac

import msgspec

CHALLENGE_HEADER = "portico-challenge"


class HealthIssue(msgspec.Struct, frozen=True):
    """A problem that keeps a running server from working, and what to do about it."""

    message: str
    suggestion: str | None


class ServerHealth(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a server, for clients that know its token. `sessions` is unknown if its log fails."""

    pid: int
    workspace: str
    uptime_seconds: float
    sessions: int | None
    active_sessions: int | None
    memory_bytes: int | None
    trouble: HealthIssue | None = None


class HealthReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Body of `/healthz`: two fields for anyone, the proof for a challenge, the rest for the token."""

    status: str
    version: str
    proof: str | None = None
    health: ServerHealth | None = None


def make_proof(token: str, challenge: str, pid: int) -> str:
    """The answer of the process with this id to a challenge."""
    return keyed_hash(token, "proof", f"{pid} {challenge}")


def keyed_hash(token: str, label: str, text: str) -> str:
    """Hash of a text under the token. Hashes with different labels cannot stand in for each other."""
    message = f"portico {label}\n{text}".encode(errors="surrogatepass")
    return hmac.new(token.encode(), message, hashlib.sha256).hexdigest()
