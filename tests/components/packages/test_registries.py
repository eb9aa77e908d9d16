"""Packages come from the registries that the clients are configured for, whole and verified, and then from the cache.

The registries are real ones on loopback, asked by the real npm, cargo and go.
"""

import asyncio
import base64
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

from portico.components.packages.archives.member import UnpackLimits
from portico.components.packages.cache import PackageArchive, PackageCache
from portico.components.packages.errors import PackageNotFound, PackageRefused, RegistryFailed
from portico.components.packages.library import PackageLibrary, PackageSource
from portico.components.packages.package import Ecosystem, PackageName
from portico.components.packages.registries import maven, pypi
from portico.components.packages.registries.pypi import PipSettings, read_pip_settings
from portico.domain.errors import InvalidInput, PorticoError
from tests.review.trees import write
from tests.support.package_registry import (
    LoopbackRegistry,
    client_environ,
    configure_clients,
    loopback_registry,
    zip_of,
)
from tests.support.waiting import wait_until

MARK = "the sources of the test"
PACKAGES: dict[Ecosystem, tuple[str, str]] = {
    "pypi": ("thing", "1.2.0"),
    "npm": ("@scope/thing", "1.2.0"),
    "crates": ("thing", "1.2.0"),
    "go": ("example.org/thing", "v1.2.0"),
    "maven": ("org.example:thing", "1.2.0"),
}


@pytest.fixture(scope="module")
def shared_registry() -> Iterator[LoopbackRegistry]:
    with loopback_registry() as registry:
        registry.add_wheel("thing", "1.2.0", {"thing/__init__.py": MARK})
        registry.add_npm("@scope/thing", "1.2.0", {"index.js": MARK})
        registry.add_crate("thing", "1.2.0", {"src/code.rs": MARK})
        registry.add_module("example.org/thing", "v1.2.0", {"thing.go": MARK})
        registry.add_jar("org.example:thing", "1.2.0", {"Thing.java": MARK})
        yield registry


@pytest.fixture
def registry(shared_registry: LoopbackRegistry) -> Iterator[LoopbackRegistry]:
    before = dict(shared_registry.files)
    shared_registry.requests.clear()
    yield shared_registry
    shared_registry.files = before
    shared_registry.silent.clear()


@pytest.fixture
def home(tmp_path: Path, registry: LoopbackRegistry) -> Iterator[Path]:
    configure_clients(tmp_path, registry.address)
    yield tmp_path
    # go makes its module cache read-only.
    for folder in tmp_path.glob("go/**/"):
        folder.chmod(0o700)


def library(home: Path) -> PackageLibrary:
    return PackageLibrary(home / "work", client_environ(home))


async def fetch(home: Path, ecosystem: Ecosystem, name: str, version: str = "") -> PackageSource:
    return await library(home).source(PackageName.parse(ecosystem, name), version)


def text_of(source: PackageSource) -> list[str]:
    return [file.path for file in source.tree.files() if source.tree.read(file.path) == MARK]


def written_by_scripts(home: Path) -> list[Path]:
    """Traces that install scripts of the test's packages would leave behind."""
    return list(home.rglob("ran"))


@pytest.mark.parametrize("ecosystem", PACKAGES)
async def test_the_latest_is_fetched_once_and_then_read_without_a_network(
    home: Path, registry: LoopbackRegistry, ecosystem: Ecosystem
) -> None:
    name, version = PACKAGES[ecosystem]
    first = await fetch(home, ecosystem, name)
    assert (first.version, first.version_origin) == (version, "the latest")
    assert len(text_of(first)) == 1
    assert first.verified
    assert not written_by_scripts(home)
    registry.requests.clear()
    registry.files.clear()
    again = await fetch(home, ecosystem, name, version)
    assert text_of(again) == text_of(first)
    assert registry.requests == []


@pytest.mark.parametrize("ecosystem", PACKAGES)
async def test_a_package_or_version_that_does_not_exist_is_named(
    home: Path, registry: LoopbackRegistry, ecosystem: Ecosystem
) -> None:
    name, version = PACKAGES[ecosystem]
    with pytest.raises(PackageNotFound, match="no"):
        await fetch(home, ecosystem, name, version.replace("1.2.0", "9.9.9"))


@pytest.mark.parametrize(
    ("ecosystem", "lockfile", "text"),
    [
        ("pypi", "requirements.txt", "thing==1.2.0 --hash=sha256:" + "0" * 64),
        ("npm", "package-lock.json", '{"packages": {"node_modules/@scope/thing": {"version": "1.2.0", "integrity": "sha512-AAAA"}}}'),
        ("crates", "Cargo.lock", '[[package]]\nname = "thing"\nversion = "1.2.0"\nsource = "registry+x"\nchecksum = "00"\n'),
        ("go", "go.mod", "require example.org/thing v1.2.0\n"),
    ],
)  # fmt: skip
async def test_an_archive_that_the_lockfile_does_not_name_is_refused(
    home: Path, registry: LoopbackRegistry, ecosystem: Ecosystem, lockfile: str, text: str
) -> None:
    write(home / "work", {lockfile: text, "go.sum": "example.org/thing v1.2.0 h1:wrong=\n"})
    with pytest.raises(PackageRefused, match=lockfile):
        await fetch(home, ecosystem, PACKAGES[ecosystem][0])
    assert PackageCache({"PORTICO_HOME": str(home / "portico")}).list() == []


async def test_a_lockfile_verifies_what_is_fetched(home: Path, registry: LoopbackRegistry) -> None:
    checksum = registry.add_crate("lock", "0.1.0", {"src/code.rs": MARK})
    text = f'[[package]]\nname = "lock"\nversion = "0.1.0"\nsource = "registry+x"\nchecksum = "{checksum}"\n'
    write(home / "work", {"Cargo.lock": text})
    source = await fetch(home, "crates", "lock")
    assert (source.version_origin, source.verified) == ("from Cargo.lock", "sha256 of Cargo.lock")


@pytest.mark.parametrize("ecosystem", ["pypi", "maven"])
async def test_a_registry_that_lies_about_a_checksum_is_refused(
    home: Path, registry: LoopbackRegistry, ecosystem: Ecosystem
) -> None:
    for path in registry.files:
        if path.endswith((".whl", "-sources.jar")):
            registry.files[path] = zip_of({"evil.py": "import os"})
    with pytest.raises(PackageRefused, match="not the one"):
        await fetch(home, ecosystem, PACKAGES[ecosystem][0])


@pytest.mark.parametrize("ecosystem", ["npm", "crates"])
async def test_a_client_refuses_a_wrong_archive_itself(
    home: Path, registry: LoopbackRegistry, ecosystem: Ecosystem
) -> None:
    for path in registry.files:
        if path.endswith((".tgz", ".crate")):
            registry.files[path] = registry.files[path][:-9] + b"otherwise"
    with pytest.raises(RegistryFailed, match="could not download"):
        await fetch(home, ecosystem, PACKAGES[ecosystem][0])


@pytest.mark.parametrize("ecosystem", PACKAGES)
async def test_without_a_network_the_failure_says_so(
    home: Path, registry: LoopbackRegistry, ecosystem: Ecosystem
) -> None:
    shutil.rmtree(home)
    configure_clients(home, "http://127.0.0.1:9")
    if ecosystem == "crates":
        with (home / ".cargo/config.toml").open("a") as file:
            file.write("[net]\nretry = 0\n")
    with pytest.raises(RegistryFailed):
        await fetch(home, ecosystem, PACKAGES[ecosystem][0])


async def test_without_a_network_the_latest_is_the_one_last_used(
    home: Path, registry: LoopbackRegistry
) -> None:
    await fetch(home, "pypi", "thing")
    (home / ".config/pip/pip.conf").write_text("[global]\nindex-url = http://127.0.0.1:9/simple\n")
    source = await fetch(home, "pypi", "thing")
    assert (source.version, source.version_origin) == ("1.2.0", "the cache")
    assert "not reached" in source.notes[0]


async def test_offline_asks_no_registry(home: Path, registry: LoopbackRegistry) -> None:
    own = PackageLibrary(home / "work", client_environ(home), offline=True)
    name = PackageName.parse("pypi", "thing")
    with pytest.raises(RegistryFailed, match="not on this machine"):
        await own.source(name)
    assert registry.requests == []
    await fetch(home, "pypi", "thing")
    assert (await own.source(name)).version_origin == "the cache"
    assert (await own.source(name, "1.2.0")).version == "1.2.0"


async def test_a_registry_that_never_answers_is_given_up(
    home: Path, registry: LoopbackRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    def impatient(environ: dict[str, str]) -> PipSettings:
        settings = read_pip_settings(environ)
        return PipSettings(settings.indexes, msgspec.structs.replace(settings.http, seconds=0.2))

    monkeypatch.setattr(pypi, "read_pip_settings", impatient)
    registry.silent.set()
    with pytest.raises(RegistryFailed, match=r"did not answer within 0\.2 s"):
        await fetch(home, "pypi", "thing")


@pytest.mark.parametrize(("ecosystem", "module"), [("pypi", pypi), ("maven", maven)])
async def test_a_download_ends_at_the_limit(
    home: Path, monkeypatch: pytest.MonkeyPatch, ecosystem: Ecosystem, module: ModuleType
) -> None:
    monkeypatch.setattr(module, "DEFAULT_LIMITS", UnpackLimits(archive_bytes=50))
    with pytest.raises(PackageRefused, match="more than 50 bytes"):
        await fetch(home, ecosystem, PACKAGES[ecosystem][0])
    assert PackageCache({"PORTICO_HOME": str(home / "portico")}).list() == []


async def test_a_yanked_version_is_found_only_by_its_number(home: Path, registry: LoopbackRegistry) -> None:
    registry.add_wheel("thing", "1.3.0", {"thing/__init__.py": "bad"}, yanked="it was broken")
    assert (await fetch(home, "pypi", "thing")).version == "1.2.0"
    assert (await fetch(home, "pypi", "thing", ">=1")).version == "1.2.0"
    yanked = await fetch(home, "pypi", "thing", "1.3.0")
    assert yanked.notes == ("This version was yanked: it was broken",)
    registry.add_crate("yank", "1.0.0", {}, yanked=True)
    with pytest.raises(PackageNotFound, match="yanked"):
        await fetch(home, "crates", "yank")


async def test_an_sdist_is_unpacked_and_never_built(home: Path, registry: LoopbackRegistry) -> None:
    registry.add_sdist("source-only", "1.0", {"setup.py": "open('ran', 'w')", "code.py": MARK})
    source = await fetch(home, "pypi", "Source_Only")
    assert text_of(source) == ["code.py"]
    assert not written_by_scripts(home)


async def test_a_package_without_sources_is_named(home: Path, registry: LoopbackRegistry) -> None:
    registry.files["/simple/binary/"] = b'<a href="/simple-files/binary-1.0.exe">x</a>'
    with pytest.raises(PackageNotFound, match="no sources"):
        await fetch(home, "pypi", "binary")
    registry.files.pop("/maven/org/example/thing/1.2.0/thing-1.2.0-sources.jar")
    with pytest.raises(PackageNotFound, match="no sources"):
        await fetch(home, "maven", "org.example:thing", "1.2.0")


async def test_credentials_go_to_the_registry_and_appear_in_no_answer(
    home: Path, registry: LoopbackRegistry
) -> None:
    address = registry.address.replace("://", "://ann:s3cret@")
    (home / ".config/pip/pip.conf").write_text(f"[global]\nindex-url = {address}/simple\n")
    source = await fetch(home, "pypi", "thing")
    expected = f"Basic {base64.b64encode(b'ann:s3cret').decode()}"
    assert [headers.get("Authorization") for _, headers in registry.requests] == [expected, expected]
    registry.files.pop("/simple-files/thing-1.2.0-py3-none-any.whl")
    with pytest.raises(PorticoError) as failure:
        await fetch(home, "pypi", "thing", "<2")
    assert "s3cret" not in f"{source}{failure.value.message}"


async def test_an_index_on_the_web_cannot_point_to_files_of_this_machine(
    home: Path, registry: LoopbackRegistry
) -> None:
    registry.files["/simple/thing/"] = b'<a href="file:///etc/thing-1.2.0-py3-none-any.whl">x</a>'
    with pytest.raises(PackageNotFound):
        await fetch(home, "pypi", "thing")


async def test_file_repositories_are_read_without_a_server(
    tmp_path: Path, registry: LoopbackRegistry
) -> None:
    for path, data in registry.files.items():
        place = tmp_path / "mirror" / path.strip("/")
        if path.endswith("/"):
            place = place / "index.html"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data.replace(b'"/simple-files', b'"../../simple-files'))
    configure_clients(tmp_path / "home", f"file://{tmp_path / 'mirror'}")
    own = library(tmp_path / "home")
    for ecosystem in ("pypi", "maven", "go"):
        name = PackageName.parse(ecosystem, PACKAGES[ecosystem][0])
        assert len(text_of(await own.source(name))) == 1
    for folder in (tmp_path / "home/go").glob("**/"):
        folder.chmod(0o700)


async def test_what_the_workspace_configures_is_not_read(home: Path, registry: LoopbackRegistry) -> None:
    evil = "http://127.0.0.1:9"
    write(
        home / "work",
        {
            ".npmrc": f"registry={evil}/\n",
            ".cargo/config.toml": f'[source.crates-io]\nreplace-with = "e"\n[source.e]\nregistry = "sparse+{evil}/"\n',
            "pip.conf": f"[global]\nindex-url = {evil}\n",
        },
    )
    for ecosystem in ("npm", "crates", "pypi"):
        assert text_of(await fetch(home, ecosystem, PACKAGES[ecosystem][0]))


async def test_a_module_name_in_go_mod_that_is_none_is_refused(home: Path) -> None:
    write(home / "work", {"go.mod": "replace example.org/thing => -modfile=evil v1.0.0\n"})
    with pytest.raises(InvalidInput, match="is not a name"):
        await fetch(home, "go", "example.org/thing")


async def test_two_who_ask_at_once_wait_for_one_download(home: Path, registry: LoopbackRegistry) -> None:
    own = library(home)
    name = PackageName.parse("pypi", "thing")
    first, second = await asyncio.gather(own.source(name, "1.2.0"), own.source(name, "1.2.0"))
    assert first.tree == second.tree
    assert sum(path.endswith(".whl") for path in registry.paths()) == 1


async def test_two_processes_that_fetch_the_same_package_keep_one(
    home: Path, registry: LoopbackRegistry
) -> None:
    name = PackageName.parse("pypi", "thing")
    sources = await asyncio.gather(*(library(home).source(name, "1.2.0") for _ in range(4)))
    assert len({source.tree.root for source in sources}) == 1
    cache = PackageCache({"PORTICO_HOME": str(home / "portico")})
    assert len(cache.list()) == 1
    assert list((cache.folder / ".unfinished").iterdir()) == []


async def test_an_interrupted_fetch_leaves_no_half_package(home: Path, registry: LoopbackRegistry) -> None:
    registry.silent.set()
    own = library(home)
    fetching = asyncio.create_task(own.source(PackageName.parse("pypi", "thing")))
    await asyncio.to_thread(wait_until, lambda: bool(registry.requests), "a request")
    fetching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await fetching
    assert PackageCache({"PORTICO_HOME": str(home / "portico")}).list() == []
    registry.silent.clear()
    assert text_of(await fetch(home, "pypi", "thing"))


def test_the_cache_forgets_what_was_used_longest_ago(tmp_path: Path) -> None:
    cache = PackageCache({"PORTICO_HOME": str(tmp_path)}, most_bytes=2500)
    for number in range(4):
        archive = tmp_path / f"{number}.zip"
        archive.write_bytes(zip_of({"a.txt": str(number) * 1000}))
        record = cache.add(
            PackageArchive(
                name=PackageName("npm", f"p{number}"), version="1.0.0", path=archive, source="test"
            )
        )
        record_file = cache.place(record) / "record.json"
        old = 1_000_000 + number * 10_000
        os.utime(record_file, (old, old))
    cache.trim()
    assert [one.name for one in cache.list()] == ["p3", "p2"]
    cache.remove(cache.list()[0])
    assert [one.name for one in cache.list()] == ["p2"]
    cache.clean()
    assert cache.list() == []


async def test_a_latest_version_of_maven_that_is_none_is_not_followed(
    home: Path, registry: LoopbackRegistry
) -> None:
    metadata = "<metadata><versioning><release>../../../evil</release></versioning></metadata>"
    registry.files["/maven/org/example/thing/maven-metadata.xml"] = metadata.encode()
    with pytest.raises(PackageNotFound, match="no sources"):
        await fetch(home, "maven", "org.example:thing")
    assert registry.paths() == ["/maven/org/example/thing/maven-metadata.xml"]


async def test_a_range_of_maven_is_not_guessed(home: Path, registry: LoopbackRegistry) -> None:
    with pytest.raises(InvalidInput, match="not one version"):
        await fetch(home, "maven", "org.example:thing", ">=1")
