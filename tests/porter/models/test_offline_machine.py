"""Resources of an offline model: context by memory, and threads by processors."""

import os
from pathlib import Path

import pytest

from portico.porter.models.offline import machine
from portico.porter.models.offline.machine import context_window, threads, total_memory
from portico.porter.models.offline.model_files import QWEN_CODER
from tests.support.offline import toy_model

GIB = 1024**3


@pytest.mark.parametrize(
    ("memory", "window"), [(64 * GIB, 32_768), (8 * GIB, 32_768), (4 * GIB, 18_432), (GIB // 2, 4096)]
)
def test_the_context_fits_the_memory_and_what_the_model_was_trained_for(memory: int, window: int) -> None:
    assert context_window(QWEN_CODER, memory) == window


def test_a_model_of_unknown_size_keeps_its_window() -> None:
    assert context_window(toy_model(b"x"), GIB) == 64


@pytest.mark.parametrize(("limit", "found"), [("1073741824\n", GIB), ("max\n", None), ("", None)])
def test_the_limit_of_a_container_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, found: int | None
) -> None:
    real = total_memory()
    (tmp_path / "memory.max").write_text(limit)
    monkeypatch.setattr(machine, "_GROUP_LIMIT", tmp_path / "memory.max")
    assert total_memory() == found if found else total_memory() >= real


def test_there_is_a_thread_for_each_processor_within_limits() -> None:
    assert threads() == max(1, min(8, len(os.sched_getaffinity(0))))
