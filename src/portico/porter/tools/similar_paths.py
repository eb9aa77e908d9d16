"""Suggests existing files whose names are similar to a missing one."""

from pathlib import Path

from portico.porter.search.file_list import collect_files
from portico.porter.tools.context import ToolContext


async def similar_paths_hint(context: ToolContext, path: Path) -> str:
    """A sentence with files that may have been meant; empty if there are none."""
    from difflib import get_close_matches

    files = {
        context.workspace.shown(one): one
        for one in await collect_files(context.workspace.root, context.environ)
    }
    same_name = [name for name, one in files.items() if one.name == path.name][:3]
    near = same_name or get_close_matches(context.workspace.shown(path), files, n=3, cutoff=0.6)
    return f" Did you mean {' or '.join(near)}?" if near else ""
