"""Tasks that several callers wait for: started by the first, cancelled when the last gives up."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

Result = TypeVar("Result")


class _Shared(Generic[Result]):
    def __init__(self, task: "asyncio.Task[Result]") -> None:
        self.task = task
        self.waiting = 0


class SharedTasks(Generic[Result]):
    """Running tasks by key."""

    def __init__(self) -> None:
        self._running: dict[Hashable, _Shared[Result]] = {}

    async def run(self, key: Hashable, start: Callable[[], Coroutine[Any, Any, Result]], name: str) -> Result:
        """The result of the running task with this key, or of a new one."""
        shared = self._running.get(key)
        if shared is None:
            shared = self._running[key] = _Shared(asyncio.create_task(start(), name=name))
            shared.task.add_done_callback(lambda task: self._forget(key, task))
        shared.waiting += 1
        try:
            return await asyncio.shield(shared.task)
        finally:
            shared.waiting -= 1
            if not shared.waiting:
                # At once: a caller who comes while it ends needs a task of its own.
                self._forget(key, shared.task)
                shared.task.cancel()

    def _forget(self, key: Hashable, task: "asyncio.Task[Result]") -> None:
        shared = self._running.get(key)
        if shared is not None and shared.task is task:
            del self._running[key]
