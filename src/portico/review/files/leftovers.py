"""Check for interrupted applies and restores in the state folder; imports nothing, for commands that start
fast.
"""

import os
from pathlib import Path

APPLIES = "applies"
CHECKPOINTS = "checkpoints"
INTENT_SUFFIXES = (".draft", ".begun", ".done")
JOURNAL = "restore"
STAGING_MARK = "restore.staging"


def has_leftovers(folder: Path) -> bool:
    """Whether an apply or a restore is running, or was interrupted, in any folder."""
    return has_intents(folder / APPLIES) or bool(restores_left(folder / CHECKPOINTS))


def has_intents(folder: Path) -> bool:
    return any(name.endswith(INTENT_SUFFIXES) for name in _names(folder))


def restores_left(folder: Path) -> list[Path]:
    """The stores of checkpoints whose last restore has not come to its end."""
    stores = [folder / name for name in _names(folder)]
    return [store for store in stores if (store / STAGING_MARK).exists() or (store / JOURNAL).exists()]


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - names are enough
    except (FileNotFoundError, NotADirectoryError):
        return []
