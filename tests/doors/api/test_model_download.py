"""Download of an offline model over the service: its progress, a pause, and what cannot be downloaded."""

from pathlib import Path

import pytest

from portico.api.v1 import agent_pb as pb
from portico.app.model_download import stream_download
from portico.domain.errors import InvalidInput
from portico.porter.models.offline.model_files import KNOWN, is_ready
from tests.support.offline import folder_index, toy_model, toy_wheel

PIECES = (b"GGUF" * 1000, b"second")
FILE = toy_model(*PIECES)


@pytest.fixture
def environ(own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setitem(KNOWN, FILE.name, FILE)
    for part, piece in zip(FILE.parts, PIECES, strict=True):
        toy_wheel(tmp_path / "index", part, piece)
    return folder_index(tmp_path / "index")


async def test_a_download_that_was_left_goes_on_and_ends_with_the_model(environ: dict[str, str]) -> None:
    left = stream_download("offline:toy", environ)
    assert await anext(left) == pb.PullModelResponse(done=0, total=FILE.size)
    await left.aclose()
    assert not is_ready(FILE, environ)

    seen = [one async for one in stream_download("offline:toy", environ)]
    assert is_ready(FILE, environ)
    assert seen[-1] == pb.PullModelResponse(done=FILE.size, total=FILE.size, checking=True)
    assert [one async for one in stream_download("offline:toy", environ)] == []


@pytest.mark.parametrize("name", ["offline:unknown", "anthropic:claude", "toy"])
async def test_what_cannot_be_downloaded_is_refused(environ: dict[str, str], name: str) -> None:
    with pytest.raises(InvalidInput):
        await anext(stream_download(name, environ))
