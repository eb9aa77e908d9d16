"""Health check of the server over HTTP: its answer, and the proof that it knows the token."""

import hashlib
import hmac

import msgspec

CHALLENGE_HEADER = "portico-challenge"


class HealthIssue(msgspec.Struct, frozen=True):
    """What keeps a server that answers from its work, and what to do about it."""

    message: str
    suggestion: str | None


class ServerHealth(msgspec.Struct, frozen=True, kw_only=True):
    """How a server does, for those who know its token. One whose log fails cannot count its sessions."""

    pid: int
    workspace: str
    uptime_seconds: float
    sessions: int | None
    active_sessions: int | None
    memory_bytes: int | None
    trouble: HealthIssue | None = None


class HealthReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What `/healthz` says: the first two to anybody, the proof to a challenge, the rest for the token."""

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
