"""A folder that is not trusted chooses no program, and none of its own is run."""

import json
import os
from pathlib import Path

import pytest

from portico.domain.errors import LanguageServerFailed
from portico.editors.language_servers.catalog import server_catalog
from portico.editors.language_servers.programs import find_server_program, prepare
from tests.editors.language_servers.support import real_server_path, workspace


def plant(path: Path, marker: Path) -> None:
    """A program that leaves a mark when it is run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\ntouch {marker}\nexit 1\n")
    path.chmod(0o755)


async def test_a_hostile_folder_names_a_server_and_brings_programs_and_none_runs(
    tmp_path: Path, own_home: Path
) -> None:
    marker = tmp_path / "run"
    async with workspace(tmp_path / "w", own_home, path=real_server_path()) as here:
        here.write("a.py", "import os\nos.nothing\n")
        here.write("a.ts", 'const x: number = "a";\n')
        evil = here.folder / "evil"
        for place in (
            evil,
            here.folder / "node_modules/.bin/typescript-language-server",
            here.folder / ".venv/bin/basedpyright-langserver",
            here.folder / ".venv/bin/python",
            here.folder / "python3",
        ):
            plant(place, marker)
        here.write(".venv/pyvenv.cfg", "home = /usr/bin\n")
        here.write("node_modules/typescript/package.json", '{"name":"typescript","version":"5.9.9"}')
        here.write(
            "node_modules/typescript/lib/tsserver.js",
            f"require('fs').writeFileSync({json.dumps(str(marker))}, '')",
        )
        named = {"command": str(evil), "extensions": {".py": "python", ".ts": "typescript"}}
        here.write(".portico/settings.json", json.dumps({"languageServers": {"mine": named}}))
        here.write("pyrightconfig.json", '{"venvPath": ".", "venv": ".venv"}')
        here.write("tsconfig.json", '{"compilerOptions":{"plugins":[{"name":"./evil"}]}}')
        assert any("nothing" in message for _, message in await here.problems("a.py"))
        assert any("not assignable" in message for _, message in await here.problems("a.ts"))
        assert not marker.exists()


def test_a_trusted_folder_brings_its_own_server(tmp_path: Path, own_home: Path) -> None:
    plant(tmp_path / ".venv/bin/basedpyright-langserver", tmp_path / "run")
    spec = server_catalog({})[0]
    environ = {"PATH": "/nowhere", "PORTICO_HOME": str(own_home)}
    assert find_server_program(spec, tmp_path, environ, trusted=False) is None
    found = find_server_program(spec, tmp_path, environ, trusted=True)
    assert found == str(tmp_path / ".venv/bin/basedpyright-langserver")


def test_servers_that_run_code_of_a_folder_need_its_trust(tmp_path: Path, own_home: Path) -> None:
    for name in ("gopls", "rust-analyzer", "jdtls"):
        plant(tmp_path / "bin" / name, tmp_path / "run")
        spec = next(spec for spec in server_catalog({}) if spec.name == name)
        environ = {"PATH": f"{tmp_path / 'bin'}:/bin", "PORTICO_HOME": str(own_home)}
        with pytest.raises(LanguageServerFailed, match="runs code of the folder"):
            prepare(spec, tmp_path, tmp_path, environ, trusted=False)
        assert prepare(spec, tmp_path, tmp_path, environ, trusted=True).command[0] == str(
            tmp_path / "bin" / name
        )


def test_servers_get_no_keys_of_model_providers(tmp_path: Path, own_home: Path) -> None:
    plant(tmp_path / "bin/clangd", tmp_path / "run")
    spec = next(spec for spec in server_catalog({}) if spec.name == "clangd")
    environ = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "ANTHROPIC_API_KEY": "secret", "A": "b"}
    prepared = prepare(spec, tmp_path, tmp_path, {**environ, "PORTICO_HOME": str(own_home)}, trusted=False)
    assert "ANTHROPIC_API_KEY" not in prepared.environ
    assert prepared.environ["A"] == "b"
