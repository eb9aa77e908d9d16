"""Holds every frame that Portico sends in any test against the official schema of the protocol.

Ends inside the test process are watched at the place where they make their connection. Portico
processes write down what they send, because the tests set `PORTICO_TAP` for them.
"""

from pathlib import Path
from typing import Any

from portico.acp.agent import AgentSideConnection
from portico.rpc.connection import RpcConnection, RpcHandler
from portico.rpc.frames import Direction, Tap, Transport
from portico.testing import FrameChecker, InvalidFrames, check_tap_file
from portico.testing.frames import FrameProblem, Side
from tests.acp.schema_examples import SCHEMA


class FrameWatch:
    """The frames of one test: of its own ends, and of the processes that tapped into a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._problems: list[FrameProblem] = []

    def connection(self, transport: Transport, handler: RpcHandler, **options: Any) -> RpcConnection:
        """Factory of connections with an extra observer."""
        role: Side = "agent" if isinstance(handler, AgentSideConnection) else "client"
        options["tap"] = self._watching(role, options.get("tap"))
        return RpcConnection(transport, handler, **options)

    def take_problems(self) -> list[FrameProblem]:
        """Problems found so far; the caller that takes them is responsible for them."""
        taken, self._problems = self._problems, []
        return taken

    def check(self) -> int:
        """InvalidFrames if anything wrong was sent; how many frames the processes wrote down."""
        if wrong := self.take_problems():
            raise InvalidFrames("\n".join(map(str, wrong)))
        return sum(check_tap_file(tap, SCHEMA) for tap in sorted(self.folder.glob("*.ndjson")))

    def _watching(self, role: Side, beside: Tap | None) -> Tap:
        checker = FrameChecker(SCHEMA)
        other: Side = "client" if role == "agent" else "agent"

        def tap(direction: Direction, data: bytes) -> None:
            if beside is not None:
                beside(direction, data)
            found = checker.check(direction, data, role if direction == "sent" else other)
            if direction == "sent":
                self._problems += found

        return tap
