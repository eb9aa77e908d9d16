"""Unsaved text of the files of a workspace, as the attached window reports it.

Texts become bytes as the file would have them: in its encoding, with its byte order mark and its line ends.
"""

import asyncio
import os
from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from portico.domain.errors import WindowLost, WindowRefused
from portico.domain.ids import SessionId
from portico.domain.secret_files import is_private
from portico.review.files.disk import BufferedDisk, Disk
from portico.review.text.lines import encode_like
from portico.sessions.windows import Window, Windows

_MOST = 200


class NoWindows:
    """Implements `Windows` for a host without attached windows."""

    def of(self, workspace: Path) -> Window | None:
        return None


class UnsavedBuffer(NamedTuple):
    """A file that is not saved: what the window calls it, its text there, and what its bytes would be."""

    name: str
    text: str
    data: bytes


class WorkspaceView:
    """Workspace as the person sees it, with unsaved text. `unread` are files whose unsaved text could not be
    read, with reasons.
    """

    def __init__(
        self,
        root: Path,
        window: Window | None = None,
        buffers: Mapping[str, UnsavedBuffer] | None = None,
        unread: Mapping[str, str] | None = None,
    ) -> None:
        self.window = window
        self.buffers = dict(buffers or {})
        self.unread = dict(unread or {})
        self._root = root

    @property
    def disk(self) -> Disk:
        """The disk, with what is typed in place of what is saved."""
        return BufferedDisk({place: one.data for place, one in self.buffers.items()})

    @property
    def typed(self) -> Mapping[str, bytes]:
        """Unsaved texts by path in the workspace."""
        return {self.shown(place): one.data for place, one in self.buffers.items()}

    def shown(self, place: str) -> str:
        return Path(place).relative_to(self._root).as_posix()


class WindowBuffers(NamedTuple):
    """Unsaved texts of a window by real path, and files that it could not be asked about, with reasons."""

    root: Path
    window: Window | None = None
    texts: Mapping[str, tuple[str, str]] = MappingProxyType({})
    unread: Mapping[str, str] = MappingProxyType({})


async def see(
    windows: Windows, session: str, workspace: Path, only: Collection[str] | None = None
) -> WorkspaceView:
    """Unsaved text in a workspace; with `only`, in these files, given by path or real path.

    Files that may hold secrets are skipped.
    """
    answer = await ask(windows, session, workspace, only)
    return await asyncio.to_thread(seen, answer) if answer.texts else seen(answer)


async def ask(
    windows: Windows, session: str, workspace: Path, only: Collection[str] | None = None
) -> WindowBuffers:
    """The part of `see` that needs no thread."""
    root = Path(_real(workspace))
    window = windows.of(workspace)
    if window is None or not window.abilities.buffers:
        return WindowBuffers(root, window)
    texts: dict[str, tuple[str, str]] = {}
    unread: dict[str, str] = {}
    failure = ""
    for name in sorted(window.unsaved()):
        place = _real(name)
        if not _is_work(Path(place), root) or not _is_meant(place, root, only):
            continue
        if len(texts) >= _MOST:
            failure = f"More than {_MOST} files are not saved."
        if not failure:
            try:
                text = await window.read(SessionId(session), name)
                if text is not None:
                    texts[place] = name, text
                continue
            except (WindowLost, WindowRefused) as error:
                failure = error.message
        unread[place] = failure
    return WindowBuffers(root, window, texts, unread)


def seen(answer: WindowBuffers) -> WorkspaceView:
    """The part of `see` that reads the disk."""
    buffers = {place: _buffer(name, text, Path(place)) for place, (name, text) in answer.texts.items()}
    return WorkspaceView(answer.root, answer.window, buffers, answer.unread)


def _is_work(place: Path, root: Path) -> bool:
    return place.is_relative_to(root) and place != root and not is_private(place.relative_to(root).parts)


def _is_meant(place: str, root: Path, only: Collection[str] | None) -> bool:
    return only is None or place in only or Path(place).relative_to(root).as_posix() in only


def _real(path: str | Path) -> str:
    return os.path.realpath(path)


def _buffer(name: str, text: str, place: Path) -> UnsavedBuffer:
    try:
        saved = Disk().read(place).data
    except OSError:  # It was never saved, or is gone from the disk.
        saved = b""
    return UnsavedBuffer(name, text, encode_like(saved, text))
