"""The packages of a session's model are imported before the first prompt needs them."""

import asyncio
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from portico.domain.errors import InvalidInput
from portico.porter.model_preload import ModelPreload
from portico.porter.models.clients import import_client
from portico.porter.models.providers import BUILT_IN
from portico.porter.setup import PorterSetup
from tests.porter.client import connected
from tests.porter.loop.scripted import NAME, Say, ScriptedModel


def loader() -> tuple[Callable[[], None], asyncio.Event, list[threading.Thread]]:
    """A load that records the thread it runs in."""
    loop, loaded, threads = asyncio.get_running_loop(), asyncio.Event(), list[threading.Thread]()

    def load() -> None:
        threads.append(threading.current_thread())
        loop.call_soon_threadsafe(loaded.set)

    return load, loaded, threads


async def test_a_model_is_loaded_once_and_in_a_thread_of_its_own() -> None:
    load, loaded, threads = loader()
    preload = ModelPreload(delay=0)
    preload.schedule(load)
    await asyncio.wait_for(loaded.wait(), 30)
    assert [thread.daemon for thread in threads] == [True]
    assert threads[0] is not threading.main_thread()
    loaded.clear()
    preload.resume()
    other, other_loaded, _ = loader()
    preload.schedule(other)
    await asyncio.wait_for(other_loaded.wait(), 30)
    assert not loaded.is_set()


async def test_nothing_is_loaded_while_a_turn_runs() -> None:
    load, loaded, threads = loader()
    preload = ModelPreload(delay=0)
    preload.schedule(load)
    preload.pause()
    other, other_loaded, _ = loader()
    ModelPreload(delay=0).schedule(other)
    await asyncio.wait_for(other_loaded.wait(), 30)
    assert threads == []
    preload.resume()
    await asyncio.wait_for(loaded.wait(), 30)


async def test_a_package_that_is_missing_is_left_to_the_turn_that_needs_it() -> None:
    load, loaded, _ = loader()

    def fail() -> None:
        load()
        raise InvalidInput("The package is not installed.")

    ModelPreload(delay=0).schedule(fail)
    await asyncio.wait_for(loaded.wait(), 30)


async def test_a_new_session_preloads_its_model(state: Path, folder: Path) -> None:
    loop, loaded, names = asyncio.get_running_loop(), asyncio.Event(), list[str]()

    def preload(name: str) -> None:
        names.append(name)
        loop.call_soon_threadsafe(loaded.set)

    def setup_of(_: Path) -> PorterSetup:
        return msgspec.structs.replace(ScriptedModel([Say("Hi.")]).setup()(Path()), preload=preload)

    async with connected(state, setup_of=setup_of) as client:
        await client.open(folder)
        await asyncio.wait_for(loaded.wait(), 30)
    assert names == [NAME]


@pytest.mark.parametrize("kind", BUILT_IN)
def test_the_packages_of_every_provider_can_be_imported_ahead(kind: str) -> None:
    import_client(BUILT_IN[kind])
    assert "portico.porter.models.response_stream" in sys.modules
