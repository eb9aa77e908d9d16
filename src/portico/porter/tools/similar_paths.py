"""The hint of a tool error that names files resembling a missing one."""

from pathlib import Path

from portico.porter.search.similar_paths import similar_paths
from portico.porter.tools.context import ToolContext


async def similar_paths_hint(context: ToolContext, path: Path) -> str:
    near = await similar_paths(context.workspace, path, context.environ)
    return f" Did you mean {' or '.join(near)}?" if near else ""
