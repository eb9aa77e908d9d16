"""A script that pipes its requests in and closes its end gets every answer."""

import json
import shlex

import pytest

from tests.support.program import Portico
from tests.support.stream import Json


def asked(*requests: tuple[str, Json]) -> bytes:
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        for number, (method, params) in enumerate(requests)
    ]
    return "\n".join(lines).encode()


HELLO = ("initialize", {"protocolVersion": 1})


@pytest.mark.parametrize("newline", [b"\n", b""], ids=["with a last newline", "without"])
@pytest.mark.parametrize("command", ["agent", "acp", "acp --no-proxies"])
def test_everything_asked_before_the_end_is_answered(portico: Portico, command: str, newline: bytes) -> None:
    opening = ("session/new", {"cwd": str(portico.workspace), "mcpServers": []})
    ran = portico.run(
        *shlex.split(command), stdin=asked(HELLO, opening, ("session/list", {}), opening) + newline
    )
    answers = {answer["id"]: answer for answer in map(json.loads, ran.text.splitlines()) if "id" in answer}
    assert ran.code == 0
    assert [number for number in range(4) if "result" not in answers.get(number, {})] == []
