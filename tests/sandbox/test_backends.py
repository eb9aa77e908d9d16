"""Choice of the sandbox backend, and the command line of each."""

import sys
from pathlib import Path

import pytest

from portico.sandbox import backends, bubblewrap, seatbelt
from portico.sandbox.backends import SandboxBackend, find_backend, probe_backend
from portico.sandbox.confinement import Confinement, SandboxUnavailable
from portico.sandbox.wrapper import WRAPPER_VARIABLE, sandbox_wrapper

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no sandbox for Windows")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for folder in ("work/inner", "secret/shown", "open"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "work" / ".env").write_text("secret")
    return tmp_path


def test_the_rule_for_the_deepest_path_wins_and_needless_ones_are_left_out(tree: Path) -> None:
    confinement = Confinement(
        writable=(tree / "work",),
        readable=(tree / "secret" / "shown", tree / "open", tree / "work" / "inner"),
        hidden=(tree / "secret", tree / "work" / ".env", tree / "gone"),
    )
    rules = confinement.rules()
    assert dict(rules) == {
        tree / "secret": "hidden",
        tree / "work": "writable",
        tree / "work" / ".env": "hidden",
        tree / "secret" / "shown": "readable",
        tree / "work" / "inner": "readable",
    }
    depths = [len(path.parts) for path, _ in rules]
    assert depths == sorted(depths)


def test_a_backend_that_does_not_confine_is_found_out() -> None:
    assert (
        probe_backend(SandboxBackend("nothing", lambda _: ()), offline=False)
        == "a confined program could write a forbidden file"
    )


def test_a_backend_that_cannot_run_says_why() -> None:
    broken = SandboxBackend("broken", lambda _: ("/bin/sh", "-c", "echo no such kernel >&2; exit 1"))
    assert probe_backend(broken, offline=False) == "no such kernel"
    missing = SandboxBackend("missing", lambda _: ("/no/such/program",))
    assert "could not be run" in (probe_backend(missing, offline=False) or "")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has namespaces")
def test_a_backend_that_confines_files_but_not_the_network_is_not_used_offline() -> None:
    def online(confinement: Confinement) -> tuple[str, ...]:
        return tuple(word for word in bubblewrap.wrapper(confinement) if word != "--unshare-net")

    half = SandboxBackend("half", online)
    assert probe_backend(half, offline=False) is None
    assert probe_backend(half, offline=True) == "a confined program could connect to a forbidden address"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has namespaces")
def test_a_network_that_cannot_be_tried_does_not_count_as_closed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (broken := tmp_path / "python").write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    for program in (broken, tmp_path / "gone"):
        monkeypatch.setattr(sys, "executable", str(program))
        probe_backend.cache_clear()
        problem = probe_backend(SandboxBackend(bubblewrap.NAME, bubblewrap.wrapper), offline=True)
        assert "the network could not be tried" in (problem or "")
    probe_backend.cache_clear()


def test_where_nothing_confines_every_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def unavailable(_: Confinement) -> tuple[str, ...]:
        raise SandboxUnavailable("this is no such system")

    monkeypatch.setattr(
        backends, "BACKENDS", (SandboxBackend("one", unavailable), SandboxBackend("two", lambda _: ()))
    )
    with pytest.raises(
        SandboxUnavailable, match=r"one: this is no such system; two: a confined program could write"
    ):
        find_backend(Confinement())


def test_the_profile_for_macos_denies_first_and_allows_the_inner_folders_after(tree: Path) -> None:
    (tree / 'a "quoted" name').mkdir()
    confinement = Confinement(
        writable=(tree / "work", tree / 'a "quoted" name'),
        hidden=(tree / "secret", tree / "work" / ".env"),
        readable=(tree / "secret" / "shown",),
        temporary=tree / "open",
        network=(),
    )
    lines = seatbelt.profile(confinement).splitlines()
    writes = lines.index("(deny file-write*)")
    work = lines.index(f'(allow file-read* file-write* (subpath "{tree}/work"))')
    assert lines[:2] == ["(version 1)", "(allow default)"]
    assert writes < work < lines.index(f'(deny file-read* file-write* (subpath "{tree}/work/.env"))')
    secret = lines.index(f'(deny file-read* file-write* (subpath "{tree}/secret"))')
    assert secret < lines.index(f'(allow file-read* (subpath "{tree}/secret/shown"))')
    assert f'(allow file-read* file-write* (subpath "{tree}/a \\"quoted\\" name"))' in lines
    assert f'(allow file-read* file-write* (subpath "{tree}/open"))' in lines
    assert lines[-1] == "(deny network*)"


def test_hosts_cannot_be_named_where_the_kernel_knows_no_hosts() -> None:
    named = Confinement(network=("example.org:443",))
    with pytest.raises(SandboxUnavailable, match="single hosts"):
        seatbelt.profile(named)
    with pytest.raises(SandboxUnavailable, match="single hosts"):
        bubblewrap.wrapper(named)


def test_the_words_that_confine_what_porter_starts_come_in_a_variable() -> None:
    assert sandbox_wrapper({}) == ()
    assert sandbox_wrapper({WRAPPER_VARIABLE: '["bwrap", "--"]'}) == ("bwrap", "--")
