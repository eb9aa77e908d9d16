"""Modules that an idle server has no use for, and that would cost it megabytes."""

import subprocess
import sys

PROGRAM = """
import sys
import portico.server.agent_service, portico.server.lifecycle
unwanted = ("h2", "http.client", "portico.porter", "prompt_toolkit", "pyqwest", "rich", "uvicorn", "webbrowser")
print(*sorted(set(unwanted) & set(sys.modules)))
"""


def test_the_server_loads_neither_clients_nor_the_terminal_nor_porter() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == []
