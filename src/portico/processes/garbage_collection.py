"""Pauses garbage collection during imports.

Imports make many objects and no garbage. The collector looks through all of them again and again, for a fifth to a
third of the time that an import takes, and once more when the process ends.
"""

import gc
import sys


class PausedCollection:
    """Context in which nothing is collected. Modules imported in it are never looked through again."""

    def __enter__(self) -> "PausedCollection":
        self._modules = len(sys.modules)
        self._enabled = gc.isenabled()
        gc.disable()
        return self

    def __exit__(self, *_: object) -> None:
        if len(sys.modules) > self._modules:
            gc.freeze()
        if self._enabled:
            gc.enable()
