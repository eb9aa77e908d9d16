"""Garbage collection is paused during imports, and only then."""

import gc
import importlib
import subprocess
import sys

import pytest

from portico.processes.garbage_collection import PausedCollection

IMPORTS = """
import gc
from portico.processes.garbage_collection import PausedCollection
with PausedCollection():
    {statement}
print(gc.get_freeze_count())
"""


def test_collection_is_paused_inside_and_goes_on_after_an_error() -> None:
    with PausedCollection():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ModuleNotFoundError), PausedCollection():
        importlib.import_module("no_such_module")
    assert gc.isenabled()


def test_a_pause_inside_another_does_not_end_it() -> None:
    with PausedCollection():
        with PausedCollection():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


@pytest.mark.parametrize(("statement", "freezes"), [("import json.decoder", True), ("pass", False)])
def test_what_was_imported_is_not_looked_through_again(statement: str, freezes: bool) -> None:
    program = IMPORTS.format(statement=statement)
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (int(ran.stdout) > 0) is freezes
