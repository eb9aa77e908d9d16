"""The installed package: one wheel with the page inside, and no Node."""

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from tests.support.program import Portico
from tests.support.serving import Server

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "src/portico/doors/http/page/index.html"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert PAGE.is_file(), "The page is not built; run: make page"
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_has_the_page_and_no_test_or_source_of_it(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    page = [name for name in names if name.startswith("portico/doors/http/page/")]
    assert "portico/doors/http/page/index.html" in page
    assert any(name.endswith(".js") for name in page)
    assert not any(name.endswith((".ts", ".tsx", ".map")) or "/tests/" in name for name in names)


@pytest.mark.timeout(300)
def test_a_person_who_installs_the_wheel_has_a_conversation_without_node(
    wheel: Path, tmp_path: Path, portico: Portico
) -> None:
    folder = tmp_path / "installed"
    venv.create(folder)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    environ = {
        name: value
        for name, value in os.environ.items()
        if name.startswith(("PIP_", "SSL_", "HTTP", "http", "REQUESTS_")) and name != "PIP_USER"
    } | {"PATH": str(python.parent), "HOME": str(tmp_path), "PORTICO_HOME": str(portico.state.parent)}
    # A pip of its own would take as long to come there as Portico does.
    pip = [sys.executable, "-m", "pip", "--python", str(python)]
    install = [*pip, "install", "--quiet", "--disable-pip-version-check"]
    pins = ["--constraint", str(ROOT / "constraints.txt")]
    subprocess.run([*install, *pins, str(wheel)], check=True, capture_output=True, env=environ)
    program = [str(python.parent / "portico")]
    served = [*program, "serve", "--detach", "--cwd", str(portico.workspace)]
    subprocess.run(served, check=True, capture_output=True, env=environ, timeout=120)
    server = Server(portico)
    try:
        assert b'name="portico-build"' in server.call("GET", "/").body
        session = server.ask("StartSession", {})["session"]["summary"]["sessionId"]
        stream = server.stream("Invoke", {"sessionId": session, "text": "/help"})
        said = ""
        while (part := stream.next()) is not None:
            said += part.get("event", {}).get("textDelta", {}).get("text", "")
        assert "Porter works in this folder" in said
    finally:
        subprocess.run([*program, "stop"], check=True, capture_output=True, env=environ, timeout=60)
