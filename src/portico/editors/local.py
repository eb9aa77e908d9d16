"""The editor of last resort: this machine's disk and programs, for sessions that no editor is attached to."""

from collections.abc import Mapping
from pathlib import Path

from portico.editors.files import LocalFiles
from portico.editors.terminals import LocalTerminals
from portico.sessions.ports import Files, Terminals


class LocalEditor:
    """The files of one workspace, and commands run in it."""

    def __init__(self, files: LocalFiles, terminals: LocalTerminals) -> None:
        self._files = files
        self._terminals = terminals

    @property
    def files(self) -> Files:
        return self._files

    @property
    def terminals(self) -> Terminals:
        return self._terminals


class LocalEditors:
    """Opens a local editor for a session. `environ` is what its commands get."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = dict(environ)

    def open(self, workspace: Path) -> LocalEditor:
        return LocalEditor(LocalFiles(workspace), LocalTerminals(workspace, self._environ))
