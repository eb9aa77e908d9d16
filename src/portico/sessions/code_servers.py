"""Interface to language servers, as the code component uses them."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from portico.domain.windows import CodeAction, CodeFileEdit, CodeLookup, CodeLookupResult, CodeProblem


class CodeTree(msgspec.Struct, frozen=True):
    """A tree of files that is asked about: the workspace, or a working copy of it.

    `read` returns the text of a file as the session has it, unsaved text included.
    """

    workspace: Path
    folder: Path
    read: Callable[[str], Awaitable[str]]


class CodeServers(Protocol):
    """Language servers of one host, shared by its sessions.

    Paths are absolute; lines and columns count from zero, columns in UTF-16 units. Every method raises
    LanguageServerFailed with the reason if there is no server, or no answer from it.
    """

    async def look_up(self, tree: CodeTree, lookup: CodeLookup) -> CodeLookupResult: ...

    async def problems_with(self, tree: CodeTree, path: str, text: str) -> Sequence[CodeProblem]:
        """The problems that a file would have with another text, in the tree as it is. Questions go first."""
        ...

    async def rename(self, tree: CodeTree, place: CodeLookup, name: str) -> Sequence[CodeFileEdit]:
        """The files as they are after a rename of what stands at a place. Nothing is written."""
        ...

    async def actions(self, tree: CodeTree, place: CodeLookup) -> Sequence[CodeAction]:
        """Code actions at a line."""
        ...

    async def act(self, tree: CodeTree, place: CodeLookup, title: str) -> Sequence[CodeFileEdit]:
        """The files as they are after the action with this title. Nothing is written."""
        ...

    async def close(self) -> None: ...
