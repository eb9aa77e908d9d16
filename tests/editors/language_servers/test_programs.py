"""Lookup of a language server's program, and the folders and environment it gets."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from portico.domain.errors import LanguageServerFailed
from portico.editors.language_servers.catalog import server_catalog
from portico.editors.language_servers.programs import find_server_program, prepare
from portico.editors.language_servers.server import LanguageServer
from portico.editors.language_servers.specification import LanguageServerSpec
from tests.editors.language_servers.support import scripted, workspace
from tests.rpc.process_tree import script


def spec_of(name: str) -> LanguageServerSpec:
    return next(spec for spec in server_catalog({}) if spec.name == name)


class Rust:
    """A machine with rustup, whose programs are links to rustup itself."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.programs = home / "bin"
        self.programs.mkdir()
        rustup = script(self.programs, "rustup", "#!/bin/sh\nexit 1\n")
        (self.programs / "rust-analyzer").symlink_to(rustup)
        (home / ".rustup" / "toolchains").mkdir(parents=True)
        (home / ".rustup" / "settings.toml").write_text('default_toolchain = "stable"\n')

    def add_to(self, toolchain: str) -> str:
        place = self.home / ".rustup" / "toolchains" / toolchain / "bin"
        place.mkdir(parents=True)
        return str(script(place, "rust-analyzer", "#!/bin/sh\n"))

    @property
    def environ(self) -> Mapping[str, str]:
        return {
            "PATH": str(self.programs),
            "HOME": str(self.home),
            "PORTICO_HOME": str(self.home / "portico"),
        }

    def find(self) -> str | None:
        return find_server_program(spec_of("rust-analyzer"), self.home, self.environ, trusted=True)


def test_a_program_that_rustup_only_stands_for_is_not_there(tmp_path: Path) -> None:
    rust = Rust(tmp_path)
    assert rust.find() is None
    rust.add_to("nightly")
    assert rust.find() is None, "not of the default toolchain"
    own = rust.add_to("stable")
    assert rust.find() == own


def test_a_program_without_rustup_beside_it_is_taken_as_it_is(tmp_path: Path) -> None:
    rust = Rust(tmp_path)
    (rust.programs / "rust-analyzer").unlink()
    own = script(rust.programs, "rust-analyzer", "#!/bin/sh\n")
    assert rust.find() == str(own)


async def test_each_server_of_java_has_a_folder_of_its_own_that_goes_with_it(tmp_path: Path) -> None:
    script(tmp_path, "jdtls", "#!/bin/sh\nmkdir -p $2\nexit 3\n")
    environ = {
        **os.environ,
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "PORTICO_HOME": str(tmp_path / "home"),
    }
    first, second = (prepare(spec_of("jdtls"), tmp_path, tmp_path, environ, trusted=True) for _ in range(2))
    assert first.data is not None
    assert second.data is not None
    assert first.data != second.data
    assert first.command[1:] == ("-data", str(first.data))
    for command in (first, second):
        with pytest.raises(LanguageServerFailed, match="failed to start"):
            await LanguageServer.start(command)
        assert command.data is not None
        assert not command.data.exists()


async def test_what_a_server_registers_when_it_is_ready_is_waited_for(tmp_path: Path, own_home: Path) -> None:
    """As Java's server does, which offers nothing before it knows the project."""
    options = {
        "without": ["definitionProvider"],
        "register_late": ["textDocument/definition"],
        "ready": "ServiceReady",
    }
    settings = scripted({"extensions": {".java": "java"}}, **options)
    servers = {"jdtls": settings["languageServers"]["scripted"]}
    folder = tmp_path / "w"
    async with workspace(folder, own_home, languageServers=servers, trustedWorkspaces=[str(folder)]) as here:
        here.write("a.java", "def one\none\n")
        assert [one.line for one in (await here.ask("definition", "a.java", 2)).places] == [0]
