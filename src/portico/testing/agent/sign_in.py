"""Sign-in state of the scripted agent, kept in a folder if there is one."""

from __future__ import annotations

from portico.testing.agent import files


class SignIn:
    def __init__(self, folder: str | None, *, needed: bool) -> None:
        self._mark = None if folder is None else files.absolute("signed-in", folder)
        self._done = not needed

    @property
    def done(self) -> bool:
        return self._done or (self._mark is not None and files.exists(self._mark))

    def do(self) -> None:
        self._done = True
        if self._mark is not None:
            files.claim(self._mark)

    def undo(self) -> None:
        self._done = False
        if self._mark is not None and files.exists(self._mark):
            files.remove(self._mark)
