"""Finds existing files whose names resemble a missing one."""

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path

from portico.porter.search.file_list import collect_files
from portico.porter.workspace import Workspace


async def similar_paths(workspace: Workspace, path: Path, environ: Mapping[str, str]) -> list[str]:
    """Return up to three files: those with the same name elsewhere, otherwise those spelled alike."""
    files = {workspace.shown(one): one for one in await collect_files(workspace.root, environ)}
    same_name = [name for name, one in files.items() if one.name == path.name][:3]
    return same_name or get_close_matches(workspace.shown(path), files, n=3, cutoff=0.6)
