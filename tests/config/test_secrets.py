"""Secrets: kept in the system's keyring, given to agents, never shown."""

import json
import stat
import sys
from pathlib import Path

import pytest

from portico.config.secrets import KEYRING_SERVICE, Secrets
from portico.domain.errors import InvalidInput


class Ring:
    """A keyring in memory."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, name: str) -> str | None:
        return self.kept.get((service, name))

    def set_password(self, service: str, name: str, value: str) -> None:
        self.kept[service, name] = value

    def delete_password(self, service: str, name: str) -> None:
        del self.kept[service, name]


def test_a_secret_is_in_the_keyring_and_only_its_name_in_a_file(tmp_path: Path) -> None:
    ring, names = Ring(), tmp_path / "state" / "secrets.json"
    assert Secrets(names, ring).keep("SOME_KEY", "very-secret") == "keyring"
    assert ring.kept == {(KEYRING_SERVICE, "SOME_KEY"): "very-secret"}
    assert json.loads(names.read_text()) == ["SOME_KEY"]
    if sys.platform != "win32":
        assert stat.S_IMODE(names.stat().st_mode) == 0o600
    later = Secrets(names, ring)
    assert later.environment() == {"SOME_KEY": "very-secret"}
    later.keep("SOME_KEY", "")
    assert (later.environment(), ring.kept, json.loads(names.read_text())) == ({}, {}, [])


def test_without_a_keyring_it_is_forgotten_with_the_process(tmp_path: Path) -> None:
    names = tmp_path / "secrets.json"
    secrets = Secrets(names, None)
    assert secrets.keep("SOME_KEY", "very-secret") == "memory"
    assert secrets.environment() == {"SOME_KEY": "very-secret"}
    assert not names.exists()
    assert Secrets(names, None).environment() == {}
    secrets.keep("SOME_KEY", "")
    assert secrets.environment() == {}


@pytest.mark.parametrize("name", ["", "PATH", "Path", "LD_PRELOAD", "A B", "1ST", "A=B", "x" * 200, "KEY\n"])
def test_what_is_no_name_for_a_secret_is_refused_without_repeating_the_secret(
    tmp_path: Path, name: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        Secrets(tmp_path / "secrets.json", Ring()).keep(name, "very-secret")
    assert "very-secret" not in f"{refused.value.message}{refused.value.suggestion}"


@pytest.mark.parametrize("value", ["two\nlines", "x" * 20_000, "nul\x00"])
def test_what_is_no_secret_is_refused(tmp_path: Path, value: str) -> None:
    with pytest.raises(InvalidInput, match="one line"):
        Secrets(tmp_path / "secrets.json", Ring()).keep("SOME_KEY", value)


@pytest.mark.parametrize("content", ["", "{}", "[1, null]", "nonsense", '["PATH", "A B"]'])
def test_a_damaged_file_of_names_harms_nothing(tmp_path: Path, content: str) -> None:
    names = tmp_path / "secrets.json"
    names.write_text(content)
    secrets = Secrets(names, Ring())
    assert secrets.environment() == {}
    secrets.keep("SOME_KEY", "very-secret")
    assert secrets.environment() == {"SOME_KEY": "very-secret"}
