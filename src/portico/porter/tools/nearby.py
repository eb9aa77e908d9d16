"""Names of files like one that is missing, for a model that has guessed."""

from pathlib import Path

from portico.porter.listing import files_below
from portico.porter.tools.bench import Bench


async def near_names(bench: Bench, path: Path) -> str:
    """A sentence with files that may have been meant; empty if there are none."""
    from difflib import get_close_matches

    files = {
        bench.workspace.shown(one): one for one in await files_below(bench.workspace.root, bench.environ)
    }
    same_name = [name for name, one in files.items() if one.name == path.name][:3]
    near = same_name or get_close_matches(bench.workspace.shown(path), files, n=3, cutoff=0.6)
    return f" Did you mean {' or '.join(near)}?" if near else ""
