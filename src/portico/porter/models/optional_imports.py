"""Imports optional provider packages one thread at a time, with errors that name what to install.

Modules of those packages import each other in circles. A thread that enters such a circle while another thread is
inside sees partially initialized modules, and Python raises ImportError.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from portico.domain.errors import InvalidInput
from portico.processes.garbage_collection import PausedCollection

_imports = threading.Lock()


@contextmanager
def import_guard(user: str, extra: str) -> Iterator[None]:
    """Guard late imports for `user`, which the optional part `extra` of Portico installs.

    Raises InvalidInput when a package is missing or does not load.
    """
    with _imports, PausedCollection():
        try:
            yield
        except ImportError as error:
            raise _explain(user, extra, _origin(error)) from error


def _origin(error: ImportError) -> ImportError:
    """Return the first error: packages wrap it in advice of their own."""
    while isinstance(error.__cause__, ImportError):
        error = error.__cause__
    return error


def _explain(user: str, extra: str, error: ImportError) -> InvalidInput:
    if isinstance(error, ModuleNotFoundError) and error.name:
        return InvalidInput(
            f"{user} needs the package {error.name}, which is not installed.",
            suggestion=f"Install it with: pip install 'portico[{extra}]'",
        )
    return InvalidInput(
        f"{user} cannot be used because a package it needs fails to import: {error}",
        suggestion=f"Reinstall it with: pip install --force-reinstall 'portico[{extra}]'",
    )
