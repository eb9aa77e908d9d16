"""Model files of the user, and the models on this machine: added, listed, preferred, deleted."""

import os
import struct
from pathlib import Path

import pytest

from portico.domain.errors import FileMissing, InvalidInput
from portico.porter.models.known_models import known_models
from portico.porter.models.offline.download import PullProgress
from portico.porter.models.offline.gguf_header import read_header
from portico.porter.models.offline.model_files import (
    DEFAULT,
    QWEN_CODER,
    find_file,
    is_ready,
    location,
    preferred_file,
    pulled_files,
)
from portico.porter.models.offline.own_file import add_own_file, remove_model
from portico.porter.models.selection import default_model
from tests.support.offline import gguf

pytestmark = pytest.mark.usefixtures("own_home")


def quiet(_: PullProgress) -> None:
    """Progress that is not shown."""


@pytest.fixture
def own_file(tmp_path: Path) -> Path:
    path = tmp_path / "My Model.Q4.gguf"
    path.write_bytes(gguf(**{"general.name": "Mine", "general.license": "mit"}))
    return path


def test_a_file_of_the_user_becomes_a_model_and_stays_where_it_is(own_file: Path) -> None:
    told: list[PullProgress] = []
    file = add_own_file(own_file, os.environ, told.append)
    assert (file.name, file.title, file.license, file.window) == ("my-model.q4", "Mine", "mit", 2048)
    assert told[-1].done == told[-1].total == own_file.stat().st_size
    assert find_file("my-model.q4", os.environ) == file
    assert default_model(None, os.environ) == "offline:my-model.q4"
    assert "offline:my-model.q4" in [entry.name for entry in known_models({}, os.environ)]
    assert location(file, os.environ).samefile(own_file)

    assert remove_model(file, os.environ) == file.size
    assert own_file.exists()
    assert list(pulled_files(os.environ)) == []
    with pytest.raises(InvalidInput, match="Unknown offline model"):
        find_file("my-model.q4", os.environ)


def test_a_file_on_another_disk_is_copied(own_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("another device")

    monkeypatch.setattr(os, "link", refuse)
    file = add_own_file(own_file, os.environ, quiet, name="copied")
    assert location(file, os.environ).read_bytes() == own_file.read_bytes()
    assert not location(file, os.environ).samefile(own_file)


@pytest.mark.parametrize("name", ["smollm2", "../up", "Big", ".hidden"])
def test_a_name_that_a_model_cannot_have_is_refused(own_file: Path, name: str) -> None:
    with pytest.raises(InvalidInput, match="cannot have the name"):
        add_own_file(own_file, os.environ, quiet, name=name)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK\x03\x04 something else",
        gguf()[:60],
        b"GGUF" + struct.pack("<IQQ", 3, 0, 2**60),
        b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 2**60),
        b"GGUF" + struct.pack("<IQQ", 99, 0, 1),
    ],
)
def test_a_file_that_is_not_a_model_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match="is not a model file"):
        add_own_file(path, os.environ, quiet)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileMissing, match=r"none\.gguf"):
        add_own_file(tmp_path / "none.gguf", os.environ, quiet)


def test_the_memory_of_a_token_comes_from_the_header(own_file: Path) -> None:
    # 4 layers, 2 heads for keys and for values, 8 numbers each, 2 bytes a number
    assert read_header(own_file).token_bytes == 4 * 2 * (8 + 8) * 2


def test_a_tiny_model_is_preferred_only_if_there_is_no_other() -> None:
    assert preferred_file(os.environ) is None
    for file, wanted in ((DEFAULT, DEFAULT), (QWEN_CODER, QWEN_CODER)):
        path = location(file, os.environ)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as sparse:
            sparse.truncate(file.size)
        assert preferred_file(os.environ) == wanted
    remove_model(QWEN_CODER, os.environ)
    assert not is_ready(QWEN_CODER, os.environ)
    assert preferred_file(os.environ) == DEFAULT
