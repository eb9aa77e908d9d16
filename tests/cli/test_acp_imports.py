"""Modules that `portico acp` does not load before an editor has its answer to `initialize`."""

import subprocess
import sys

from tests.support.program import PROGRAM, Portico

INITIALIZE = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n'
LATER = (
    "email",
    "importlib.metadata",
    "json",
    "pyqwest",
    "portico.components.code",
    "portico.components.packages",
    "portico.doors",
    "portico.porter",
    "portico.review.proposals",
    "portico.sandbox.backends",
    "portico.store",
)


def test_the_answer_to_initialize_waits_for_no_module_that_it_does_not_need(portico: Portico) -> None:
    command = (sys.executable, "-X", "importtime", PROGRAM, "acp", "--agent-command", portico.agent)
    with subprocess.Popen(
        command,
        cwd=portico.workspace,
        env=portico.environ(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as acp:
        assert acp.stdin is not None
        assert acp.stdout is not None
        assert acp.stderr is not None
        acp.stdin.write(INITIALIZE)
        acp.stdin.flush()
        assert b'"agentCapabilities"' in acp.stdout.readline()
        acp.stdin.close()
        lines = acp.stderr.read().decode().splitlines()
    loaded = {line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")}
    assert "portico.conductor.chain" in loaded
    assert [name for name in LATER if name in loaded] == []
