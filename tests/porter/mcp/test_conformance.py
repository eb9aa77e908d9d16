"""Porter's MCP client against the official conformance suite, where it applies; docs/concepts/evaluation.md has the rest."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from scripts.find_vscode import folder

ROOT = Path(__file__).parents[3]
SUITE = ROOT / "tests/peers/node_modules/@modelcontextprotocol/conformance/dist/index.js"
CLIENT = Path(__file__).with_name("conformance_client.py")
PAGE = ROOT / "docs/concepts/evaluation.md"
OLDEST_NODE = 22
APPLIES = ("initialize", "tools_call", "sse-retry", "elicitation-sep1034-client-defaults")
EXCEPTIONS = ("auth/*",)


def find_node() -> str | None:
    """The suite needs a newer Node than the other peers do; the one of VS Code for the tests will do."""
    for program in (shutil.which("node"), str(folder() / "node_modules/node/bin/node")):
        if program is None or not Path(program).exists():
            continue
        said = subprocess.run((program, "--version"), capture_output=True, text=True, check=True).stdout
        if int(said.strip().removeprefix("v").partition(".")[0]) >= OLDEST_NODE:
            return program
    return None


# Now, while the caches are still those of the user: a test has a home of its own.
NODE = find_node()


def suite(*words: str) -> "subprocess.CompletedProcess[str]":
    if NODE is None:
        pytest.fail(
            f"The suite needs Node {OLDEST_NODE} or newer: on PATH, or by scripts/find_vscode.py --install"
        )
    return subprocess.run(
        (NODE, str(SUITE), *words), capture_output=True, text=True, timeout=60, check=False, cwd=ROOT
    )


@pytest.mark.parametrize("scenario", APPLIES)
def test_the_client_conforms(scenario: str, tmp_path: Path) -> None:
    command = shlex.join((sys.executable, "-P", str(CLIENT)))
    ran = suite("client", "--command", command, "--scenario", scenario, "-o", str(tmp_path))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    [found] = tmp_path.rglob("checks.json")
    verdicts = [one["status"] for one in json.loads(found.read_text()) if one["status"] != "INFO"]
    assert verdicts
    assert set(verdicts) == {"SUCCESS"}, ran.stdout


def test_every_scenario_for_clients_is_run_or_stands_among_the_exceptions() -> None:
    listed = suite("list").stdout.partition("Client scenarios")[2]
    names = re.findall(r"^\s+- (\S+)", listed, re.MULTILINE)
    assert set(APPLIES) <= set(names)
    others = [name for name in names if name not in APPLIES]
    assert [name for name in others if not any(fnmatchcase(name, one) for one in EXCEPTIONS)] == []
    page = PAGE.read_text(encoding="utf-8")
    assert [name for name in (*APPLIES, *EXCEPTIONS) if f"`{name}`" not in page] == []
