"""File operations of the scripted agent on `os` alone, because pathlib would slow its start."""
# ruff: noqa: PTH103, PTH105, PTH108, PTH110, PTH112, PTH118, PTH120, PTH123, PTH208

from __future__ import annotations

import os


def absolute(path: str, folder: str) -> str:
    return os.path.normpath(os.path.join(folder, path))


def exists(path: str) -> bool:
    return os.path.exists(path)


def read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def names_in(folder: str) -> list[str]:
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


def claim(path: str) -> bool:
    """Make an empty file; whether this process was the one that made it."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return False
    return True


def make_folder_of(path: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)


def replace(path: str, content: str) -> None:
    """Write a file atomically, so that no reader sees it half written."""
    unfinished = f"{path}.{os.getpid()}"
    with open(unfinished, "w", encoding="utf-8") as file:
        file.write(content)
    os.replace(unfinished, path)


def append(path: str, content: bytes) -> None:
    """Add to a file in one write, so that a killed process leaves no half line behind a whole one."""
    descriptor = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
    try:
        write_all(descriptor, content)
    finally:
        os.close(descriptor)


def write_all(descriptor: int, content: bytes) -> None:
    """Everything, however little the pipe takes at a time."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def remove(path: str) -> None:
    os.unlink(path)
