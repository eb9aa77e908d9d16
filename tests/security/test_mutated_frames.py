"""Fifty thousand broken frames in every direction: nothing dies, nothing hangs, nothing unforeseen is logged."""

from pathlib import Path

import pytest

from portico.rpc.connection import RpcConnection
from tests.support.fuzz_targets import TARGETS, Unforeseen, throw_at

ROUNDS = 4
FRAMES = 2500


@pytest.fixture(autouse=True)
def unwatched(frame_watch: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """The watch over sent frames follows what peers ask; here it could not."""
    monkeypatch.setattr("portico.acp.connection.RpcConnection", RpcConnection)


@pytest.mark.parametrize("target", TARGETS)
async def test_broken_frames_leave_everything_alive(target: str, tmp_path: Path) -> None:
    with Unforeseen() as unforeseen:
        for seed in range(ROUNDS):
            await throw_at(target, tmp_path, seed=seed, count=FRAMES)
    assert list(unforeseen.found.values()) == []
