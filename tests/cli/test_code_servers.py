"""`portico code servers`: what is listed, and how each tool is asked to install a server. The tools are played."""

from pathlib import Path

import pytest

from tests.support.program import Portico

# Prints its arguments, and makes the program that it is asked for: the file behind --root or --prefix, or in GOBIN.
PLAYED = """#!/bin/sh
echo "$0 $*" >> "{calls}"
echo "fetching"
while [ $# -gt 0 ]; do
  case "$1" in --root|--prefix) folder="$2"; shift;; esac
  shift
done
program="${{GOBIN:-$folder/{place}}}/{program}"
mkdir -p "${{program%/*}}"
printf '#!/bin/sh\\n' > "$program"
chmod +x "$program"
"""


def play(folder: Path, tool: str, program: str, place: str) -> Path:
    folder.mkdir()
    calls = folder / "calls"
    (folder / tool).write_text(PLAYED.format(calls=calls, program=program, place=place))
    (folder / tool).chmod(0o755)
    return calls


@pytest.mark.parametrize(
    ("server", "tool", "program", "place", "words"),
    [
        ("rust-analyzer", "cargo", "rust-analyzer", "bin", "install --locked --root"),
        ("jdtls", "npm", "jdtls", "node_modules/coc-java/server/bin", "install --prefix"),
        ("gopls", "go", "gopls", "", "install -v golang.org/x/tools/gopls@v"),
        ("bash-language-server", "npm", "bash-language-server", "node_modules/.bin", "install --prefix"),
    ],
)
def test_a_server_is_installed_by_its_tool_in_a_pinned_version_and_then_found(
    server: str, tool: str, program: str, place: str, words: str, portico: Portico, tmp_path: Path
) -> None:
    calls = play(tmp_path / "tools", tool, program, place)
    portico.settings({"trustedWorkspaces": [str(portico.workspace)]})
    path = {"PATH": f"{tmp_path / 'tools'}:/usr/bin:/bin"}
    done = portico.run("code", "servers", "install", server, environ=path)
    assert done.code == 0, done.err
    assert "fetching" in done.err, "its progress"
    (call,) = calls.read_text().splitlines()
    assert words in call
    listed = portico.run("code", "servers", "list", "--api", environ=path).api["servers"]
    (found,) = [one for one in listed if one["name"] == server]
    assert found["program"].endswith(f"/{program}")
    assert str(portico.home) in found["program"]
    assert all(name in call and ("@" in name) for name in found["packages"]), "a version of each"
    again = portico.run("code", "servers", "install", server, environ=path)
    assert again.code == 0, again.err
    assert calls.read_text().splitlines() == [call], "it is installed already"


def test_a_tool_that_fails_is_told_and_leaves_nothing_behind(portico: Portico, tmp_path: Path) -> None:
    calls = play(tmp_path / "tools", "cargo", "rust-analyzer", "bin")
    script = tmp_path / "tools" / "cargo"
    script.write_text(
        f"#!/bin/sh\necho x >> {calls}\necho '{'long/path/' * 60}: no matching package' >&2\nexit 101\n"
    )
    done = portico.run(
        "code", "servers", "install", "rust-analyzer", environ={"PATH": f"{script.parent}:/usr/bin:/bin"}
    )
    assert done.code != 0
    assert "cargo failed: long/path/" in done.err
    assert "/: no matching package\n" in done.err, "the reason is at the end of a long line"
    assert not list((portico.home / "portico" / "cache" / "language-servers").glob("rust-analyzer-*"))


def test_a_tool_that_is_missing_is_named(portico: Portico) -> None:
    done = portico.run("code", "servers", "install", "jdtls", environ={"PATH": "/nowhere"})
    assert done.code == 5
    assert "npm cannot be run" in done.err
    assert "Install npm and try again." in done.err
