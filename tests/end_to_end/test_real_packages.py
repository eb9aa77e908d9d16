"""Real packages of five ecosystems, and skills that real packages ship, from the registries themselves."""

import json
import shlex
import shutil
from pathlib import Path

import pytest

from tests.cli.test_model_failures import ask, quick_environ
from tests.support.editor import PEERS, Editor, node, said
from tests.support.model_endpoint import Answer, Call, ModelEndpoint, Say
from tests.support.program import Portico
from tests.support.real_packages import NO_NETWORK, client_caches, fetch

PACKAGES = [
    ("pypi", "iniconfig", "2.0.0", "iniconfig/exceptions.py", "class ParseError"),
    ("npm", "ms", "2.1.3", "index.js", "function parse(str)"),
    ("crates", "itoa", "1.0.11", "src/lib.rs", "pub struct Buffer"),
    ("go", "github.com/pkg/errors", "v0.9.1", "errors.go", "func Wrap(err error"),
    ("maven", "org.slf4j:slf4j-api", "2.0.9", "org/slf4j/Logger.java", "public interface Logger"),
]
SKILLS = {
    "pypi:fastapi/fastapi": "FastAPI",
    "pypi:typer/typer": "Typer",
    "pypi:pydantic-ai-slim/building-pydantic-ai-agents": "Pydantic AI",
    "npm:@tanstack/router-core/router-core": "TanStack Router",
}
"""Skills that ship with packages, and words that are in each."""
ALLOWED = ("fastapi", "typer", "pydantic-ai-slim", "npm:@tanstack/*")


@pytest.mark.parametrize(("ecosystem", "name", "version", "file", "words"), PACKAGES)
def test_a_package_is_fetched_from_its_registry_and_then_read_without_a_network(
    portico: Portico, tmp_path: Path, ecosystem: str, name: str, version: str, file: str, words: str
) -> None:
    environ = client_caches(tmp_path / "caches")
    first = fetch(portico, environ, ecosystem, name, version)
    assert first["version"] == version
    assert first["verified"]
    assert words in (Path(first["folder"]) / file).read_text()
    again = fetch(portico, {**environ, **NO_NETWORK}, ecosystem, name, version)
    assert again["folder"] == first["folder"]
    missing = ("packages", "show", ecosystem, name, "0.0.1" if ecosystem != "go" else "v0.0.1")
    failed = portico.run(*missing, environ={**environ, **NO_NETWORK}, seconds=180)
    assert failed.code != 0
    assert failed.err.startswith("portico: ")


@pytest.fixture
def skilled(portico: Portico, tmp_path: Path) -> Portico:
    """A workspace with real packages that ship skills."""
    environ = client_caches(tmp_path / "caches")
    site = portico.workspace / ".venv" / "lib" / "python3.12" / "site-packages"
    for name, version in (("fastapi", "0.162.7"), ("typer", "0.29.1"), ("pydantic-ai-slim", "2.66.0")):
        folder = fetch(portico, environ, "pypi", name, version)["folder"]
        shutil.copytree(folder, site, dirs_exist_ok=True)
    folder = fetch(portico, environ, "npm", "@tanstack/router-core", "1.171.39")["folder"]
    shutil.copytree(folder, portico.workspace / "node_modules" / "@tanstack" / "router-core")
    return portico


def test_an_agent_of_the_typescript_sdk_reads_the_skills_that_real_packages_ship(skilled: Portico) -> None:
    listed = {one["id"]: one for one in skilled.run("skills", "list", "--api").api["skills"]}
    assert {listed[name]["state"] for name in SKILLS} == {"not allowed"}
    assert listed["pypi:fastapi/fastapi"]["version"] == "0.162.7"
    assert skilled.run("skills", "allow", *ALLOWED).code == 0
    editor = Editor(skilled, "--agent-command", shlex.join([node(), str(PEERS / "mcp_agent.mjs")]))
    session = editor.open_session()
    reads = [
        ["portico-skills", "tools/call", {"name": "skill_read", "arguments": {"name": name}}]
        for name in SKILLS
    ]
    turn = editor.prompt(session, json.dumps([["", "prompt"], *reads]))
    editor.answer_to(turn)
    prompt, *skills = json.loads(said(editor.heard))
    assert all(f"- {name.rpartition('/')[2]} (" in prompt[0]["text"] for name in SKILLS)
    texts = [one["outcome"]["result"]["content"][0]["text"] for one in skills]
    for text, words in zip(texts, SKILLS.values(), strict=True):
        assert words in text
    assert editor.hang_up().code == 0


async def test_porter_reads_the_skills_that_real_packages_ship(skilled: Portico) -> None:
    assert skilled.run("skills", "allow", *ALLOWED).code == 0
    calls = [Answer(Call("portico-skills__skill_read", json.dumps({"name": name}))) for name in SKILLS]
    async with ModelEndpoint(*calls, Answer(Say("Read."))) as endpoint:
        ran = await ask(skilled, quick_environ(endpoint), "--allow", "other", "Go on.")
        _, *reads = (json.dumps(one.body["messages"][-1]) for one in endpoint.requests)
    assert ran.code == 0, ran.stream.lines
    for read, words in zip(reads, SKILLS.values(), strict=True):
        assert words in read
    assert "pypi fastapi 0.162.7" in reads[0]
    assert "references/pydantic.md" in reads[0]
