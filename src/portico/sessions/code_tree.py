"""The tree of a session as language servers are asked about it."""

from pathlib import Path

from portico.domain.errors import LanguageServerFailed
from portico.domain.ids import SessionId
from portico.sessions.code_servers import CodeTree
from portico.sessions.ports import Ports


def open_code_tree(ports: Ports, session_id: SessionId, workspace: Path, folder: Path | None) -> CodeTree:
    """The person's files, unsaved text included; or those in `folder`, the working copy of the session."""
    files = ports.editors.open(workspace, folder=folder, session_id=session_id).files

    async def read(path: str) -> str:
        if files is None:
            raise LanguageServerFailed("This process cannot read files.")
        return await files.read_text(path)

    return CodeTree(workspace, folder or workspace, read)
