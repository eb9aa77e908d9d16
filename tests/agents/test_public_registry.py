"""Agents of the public registry: what is shown, what is installed, and what is refused."""

import argparse
import hashlib
import io
import json
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from portico.agents.public_registry import BinaryRelease, keep_registry, load_registry, parse_registry
from portico.agents.registry import KNOWN_AGENTS, AgentRegistry
from portico.agents.registry_installation import installed_agents, remove_agent, unpack_release
from portico.cli.agent_installation import describe_entry, install_agent
from portico.domain.errors import AgentNotFound, InvalidInput, StoreFailed
from tests.rpc.process_tree import script
from tests.support.program import Portico

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the programs here are shell scripts")

NPM = """#!/bin/sh
echo "$*" >> "$HOME/calls"
root="$3/node_modules"
mkdir -p "$root/.bin" "$root/pi-acp"
echo '{"bin": {"other": "x", "pi-acp": "y"}}' > "$root/pi-acp/package.json"
printf '#!/bin/sh\\n' > "$root/.bin/pi-acp"
chmod +x "$root/.bin/pi-acp"
"""


def registry_of(*distributions: Any, **fields: Any) -> bytes:
    agents = [
        {"id": f"agent-{place}", "name": "A", "version": "1", "distribution": one, **fields}
        for place, one in enumerate(distributions)
    ]
    return json.dumps({"agents": agents}).encode()


def binary(**fields: Any) -> Any:
    release = {"archive": "https://example.org/a.tar.gz", "cmd": "./a", "sha256": "0" * 64, **fields}
    return {"binary": {"linux-x86_64": release}}


def flags(**given: bool) -> argparse.Namespace:
    return argparse.Namespace(**{"yes": False, "api": False, **given})


def tar_of(*members: tuple[str, bytes | str]) -> bytes:
    """An archive of files; a text is the target of a link."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for name, content in members:
            member = tarfile.TarInfo(name)
            if isinstance(content, str):
                member.type, member.linkname = tarfile.SYMTYPE, content
                archive.addfile(member)
            else:
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    return data.getvalue()


def zip_of(**members: bytes) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return data.getvalue()


def release_of(data: bytes, cmd: str = "./bin/agent") -> BinaryRelease:
    return BinaryRelease("https://example.org/a", cmd, sha256=hashlib.sha256(data).hexdigest())


def test_the_snapshot_of_the_package_is_whole_and_names_its_source(tmp_path: Path) -> None:
    found = load_registry({"HOME": str(tmp_path)})
    assert found.left_out == ()
    assert len(found.entries) == 38
    assert "MIT" in found.source
    assert found.entries["pi-acp"].origin.startswith("npm: pi-acp@")
    # The names of agents that Portico knows by itself are its own.
    assert {one.name for one in KNOWN_AGENTS} & set(found.entries) == {"gemini", "goose", "opencode"}


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"npx": {"package": "../../evil@1.0.0"}}, "not a pinned package"),
        ({"npx": {"package": "git+https://example.org/x.git@1.0.0"}}, "not a pinned package"),
        ({"npx": {"package": "--registry=http://example.org@1"}}, "not a pinned package"),
        ({"npx": {"package": "pi-acp"}}, "not a pinned package"),
        ({"npx": {"package": "pi-acp@latest"}}, "not a pinned package"),
        ({"uvx": {"package": "-r evil.txt"}}, "not a pinned package"),
        ({"uvx": {"package": "x==1.0; rm"}}, "not a pinned package"),
        ({"npx": {"package": "a@1.0.0", "env": {"LD_PRELOAD": "/x.so"}}}, "may not set the variable"),
        ({"npx": {"package": "a@1.0.0", "env": {"NODE_OPTIONS": "-r x"}}}, "may not set the variable"),
        ({"npx": {"package": "a@1.0.0", "env": {"PATH": "/x"}}}, "may not set the variable"),
        ({"npx": {"package": "a@1.0.0", "args": ["\x1b[2J"]}}, "not printable"),
        (binary(cmd="/bin/sh"), "not inside the archive"),
        (binary(cmd="../../.bashrc"), "not inside the archive"),
        (binary(cmd="C:\\Windows\\x.exe"), "not inside the archive"),
        (binary(archive="http://example.org/a.tar.gz"), "does not come by https"),
        (binary(archive="file:///etc/passwd"), "does not come by https"),
        (binary(sha256="abc"), "not a SHA-256"),
        ({"npx": {"package": 7}}, "not valid"),
    ],
)
def test_an_entry_that_could_do_more_than_install_a_program_is_left_out(entry: Any, reason: str) -> None:
    found = parse_registry(registry_of(entry, {"npx": {"package": "good@1.0.0"}}), "x")
    assert list(found.entries) == ["agent-1"]
    assert reason in found.left_out[0]


@pytest.mark.parametrize("name", ["..", "a/b", "/etc", "-x", "A b", ""])
def test_an_entry_whose_name_is_a_path_is_left_out(name: str) -> None:
    found = parse_registry(registry_of({"npx": {"package": "good@1.0.0"}}, id=name), "x")
    assert found.entries == {}
    assert "not a name" in found.left_out[0]


def test_a_registry_that_is_none_replaces_nothing(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    keep_registry(registry_of({"npx": {"package": "good@1.0.0"}}), environ)
    for bad in (b"", b"[]", b"<html>", registry_of(), registry_of({"npx": {"package": "bad"}})):
        with pytest.raises(StoreFailed):
            keep_registry(bad, environ)
    assert list(load_registry(environ).entries) == ["agent-0"]


def test_an_agent_of_the_registry_is_installed_pinned_after_a_yes_started_and_removed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    script(programs, "npm", NPM)
    environ = {"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(tmp_path)}
    registry = AgentRegistry(python=sys.executable, environ=environ)
    version = load_registry(environ).entries["pi-acp"].version
    assert "pi-acp" not in registry.names()
    assert registry.find("pi-acp") is None
    with pytest.raises(InvalidInput, match=f"npm: pi-acp@{version}"):
        install_agent(registry, "pi-acp", environ, flags())
    assert not (tmp_path / "calls").exists()

    assert install_agent(registry, "pi-acp", environ, flags(yes=True)) == 0
    assert f"Installed npm: pi-acp@{version} for pi-acp" in capsys.readouterr().out
    assert f" pi-acp@{version}\n" in (tmp_path / "calls").read_text()
    spec = registry.resolve("pi-acp")
    assert spec.command[0].endswith("/agents/pi-acp/node_modules/.bin/pi-acp")
    assert registry.find("pi-acp") is not None
    assert "pi-acp" in registry.names()
    assert installed_agents(environ)["pi-acp"].version == version

    assert remove_agent("pi-acp", environ)
    assert not remove_agent("pi-acp", environ)
    assert "pi-acp" not in registry.names()
    with pytest.raises(AgentNotFound):
        registry.resolve("no-such-agent")


def test_an_archive_without_a_checksum_is_not_installed_and_the_person_is_told_how(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    registry = AgentRegistry(python=sys.executable, environ=environ)
    without = [
        name
        for name, one in load_registry(environ).entries.items()
        if (release := one.release()) and not release.sha256 and not one.distribution.npx
    ]
    assert without
    with pytest.raises(InvalidInput, match="gives no checksum") as caught:
        install_agent(registry, without[0], environ, flags(yes=True))
    assert "by hand from https://" in (caught.value.suggestion or "")
    words = "\n".join(describe_entry(load_registry(environ).entries["auggie"]))
    assert "It sets AUGMENT_DISABLE_AUTO_UPDATE=1." in words


def test_an_archive_with_the_right_checksum_is_unpacked_and_its_program_runs_for_its_owner(
    tmp_path: Path,
) -> None:
    for place, data in enumerate((tar_of(("bin/agent", b"#!")), zip_of(**{"bin/agent": b"#!"}))):
        folder = tmp_path / str(place)
        folder.mkdir()
        assert unpack_release(data, release_of(data), folder) == "bin/agent"
        assert (folder / "bin/agent").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    "data",
    [
        tar_of(("../climbed", b"x"), ("bin/agent", b"#!")),
        tar_of(("/tmp/portico-climbed", b"x")),
        tar_of(("bin", "../.."), ("bin/agent", b"#!")),
        tar_of(("bin/agent", "/bin/sh")),
        zip_of(**{"../climbed": b"x", "bin/agent": b"#!"}),
        zip_of(**{"..\\climbed": b"x", "bin/agent": b"#!"}),
        zip_of(other=b"x"),
        b"no archive",
        tar_of(("bin/agent", b"#!"))[:-20],
    ],
    ids=["up", "root", "link", "link out", "zip up", "zip back", "no program", "garbage", "short"],
)
def test_an_archive_that_climbs_or_is_broken_is_refused_and_writes_nothing_outside(
    tmp_path: Path, data: bytes
) -> None:
    folder = tmp_path / "inside" / "folder"
    folder.mkdir(parents=True)
    with pytest.raises(StoreFailed):
        unpack_release(data, release_of(data), folder)
    outside = [one for one in tmp_path.rglob("*climbed*") if not one.is_relative_to(folder)]
    assert outside == []
    assert not Path("/tmp/portico-climbed").exists()


def test_an_archive_with_another_checksum_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    data = tar_of(("bin/agent", b"#!"))
    with pytest.raises(StoreFailed, match="not the one in the registry"):
        unpack_release(data, release_of(b"other"), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_registry_is_listed_updated_from_a_file_and_told_to_programs(
    portico: Portico, tmp_path: Path
) -> None:
    listed = portico.run("agents", "list", "--all")
    assert "Public registry" in listed.text
    assert "pi-acp" in listed.text
    assert "Public registry" not in portico.run("agents", "list").text
    newer = tmp_path / "registry.json"
    newer.write_bytes(registry_of({"npx": {"package": "good@1.0.0"}}, binary(cmd="/bin/sh")))
    updated = portico.run("agents", "update", "--from", str(newer))
    assert "1 agents now" in updated.text
    assert "not inside the archive" in updated.text
    told = portico.run("agents", "list", "--all", "--api").api
    assert [one["id"] for one in told["registry"]] == ["agent-0"]
    assert portico.run("agents", "update", "--from", str(tmp_path / "none")).code == 5
    assert portico.run("agents", "remove", "gemini").code == 5
