"""Programs made with Connect for Node reach the server's sessions in every protocol that it speaks."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from portico import __version__
from tests.cli.test_serve import settings_with_scripted_agent
from tests.support.program import Portico
from tests.support.serving import Server, detach, stopped
from tests.support.stream import Json

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "tests" / "peers" / "service_client.ts"
MODULES = ROOT / "web" / "node_modules"
PROTOCOLS = ["connect", "grpc", "grpc-web"]
PATIENCE = 60

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The client as Node runs it."""
    built = tmp_path_factory.mktemp("client") / "service_client.mjs"
    bundle = [str(MODULES / ".bin" / "esbuild"), str(SOURCE), "--bundle", "--platform=node", "--format=esm"]
    environ = {**os.environ, "NODE_PATH": str(MODULES)}
    subprocess.run(
        [*bundle, "--log-level=warning", f"--outfile={built}"], env=environ, check=True, timeout=PATIENCE
    )
    return built


@pytest.fixture
def client(portico: Portico, server: Server, program: Path) -> Start:
    """Start the client on a server that runs, with its token unless another is given."""
    settings_with_scripted_agent(portico)
    detach(portico)
    node = shutil.which("node")
    assert node is not None, "the tests need Node"

    def start(protocol: str, *words: str, token: str | None = None) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [node, program, protocol, server.url.rstrip("/"), *words],
            env={**portico.environ(), "TOKEN": server.token if token is None else token},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start


def heard(client: "subprocess.Popen[str]") -> Json:
    """Final output of the client."""
    out, err = client.communicate(timeout=PATIENCE)
    assert client.returncode == 0, err
    found = json.loads(out)
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_whole_turn_with_a_permission_goes_over_every_protocol(client: Start, protocol: str) -> None:
    told = heard(client(protocol, "turn", "permission"))
    assert told["answer"] == "allowed"
    kinds = told["kinds"]
    assert kinds[0] == "promptSubmitted"
    assert kinds.index("permissionRequested") < kinds.index("permissionResolved") < kinds.index("turnEnded")


@pytest.mark.parametrize("protocol", [*PROTOCOLS, "connect-h2"])
def test_a_wrong_token_is_refused_in_every_protocol(client: Start, protocol: str) -> None:
    told = heard(client(protocol, "info", token="wrong"))
    assert told["error"]["code"] == "Unauthenticated"
    assert heard(client(protocol, "info")) == {"version": __version__}


def test_more_grpc_calls_than_go_at_once_are_all_answered(client: Start) -> None:
    assert heard(client("grpc", "many")) == {"answers": 150}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_stream_ends_properly_when_the_server_stops(
    portico: Portico, server: Server, client: Start, protocol: str
) -> None:
    server.ask("StartSession", {"agent": "scripted"})
    watching = client(protocol, "watch")
    assert watching.stderr is not None
    assert watching.stderr.readline() == "watching\n"
    stopped(portico)
    told = heard(watching)
    assert told["ended"] is True
    assert told["heard"] >= 1
