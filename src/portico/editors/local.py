"""Local editor: disk and programs of this machine, for sessions without an attached window."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from portico.domain.ids import SessionId
from portico.editors.files import LocalFiles
from portico.editors.terminals import HostTerminals
from portico.processes.relocation import relocated_environ
from portico.sessions.ports import EditorFiles, EditorTerminals

CommandWrapper = Callable[[Path, Path | None], tuple[str, ...]]


def _unconfined(_workspace: Path, _folder: Path | None) -> tuple[str, ...]:
    return ()


class LocalEditor:
    """The files of one workspace, and commands run in it."""

    def __init__(self, files: EditorFiles, terminals: EditorTerminals) -> None:
        self._files = files
        self._terminals = terminals

    @property
    def files(self) -> EditorFiles:
        return self._files

    @property
    def terminals(self) -> EditorTerminals:
        return self._terminals


class LocalEditorProvider:
    """Opens local editors for sessions. `environ` is the environment of their commands.

    `confine` returns the prefix that confines a command of the agent in a workspace, or in a folder instead of it.
    """

    def __init__(self, environ: Mapping[str, str], confine: CommandWrapper = _unconfined) -> None:
        self._environ = dict(environ)
        self._confine = confine

    def open(
        self, workspace: Path, *, folder: Path | None = None, session_id: SessionId | None = None
    ) -> LocalEditor:
        environ = self._environ
        if folder is not None:
            environ = relocated_environ(environ, workspace=workspace, folder=folder)
        terminals = HostTerminals(folder or workspace, environ, partial(self._confine, workspace, folder))
        return LocalEditor(LocalFiles(folder or workspace), terminals)
