"""`portico acp` with N proxies that look in place of its own: looking_acp.py N FLAGS …

Each proxy sees every request and its answer, and every update, and lets them go on unchanged.
"""

import sys
from collections.abc import Sequence
from typing import ClassVar
from unittest.mock import patch

from portico.chains.plan import ChainPlan
from portico.cli import acp
from portico.conductor.node import ChainNode, ProxyNode
from portico.conductor.proxy import Proxy
from portico.rpc.messages import Message


class Looking(Proxy):
    name: ClassVar[str] = "looking"
    client_methods = frozenset({"echo", "session/prompt"})
    agent_methods = frozenset({"session/update"})

    def from_client(self, message: Message) -> None:
        self.forward_right(message, then=self.forward_left)


def main() -> int:
    count = int(sys.argv[1])

    async def nodes(*_: object, **__: object) -> Sequence[ChainNode]:
        return [ProxyNode(Looking()) for _ in range(count)]

    with patch.object(ChainPlan, "nodes", nodes):
        return acp.run(sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
