"""Environment and command of a program that runs in a working copy instead of the workspace.

Some variables of the person name places in the workspace, and some bind every git to one repository. A program
that got them as they are would read or write the person's files while it means those of its own folder.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

_OF_ONE_REPOSITORY = frozenset(
    {
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_NAMESPACE",
        "GIT_PREFIX",
        "GIT_SHALLOW_FILE",
        "GIT_GRAFT_FILE",
    }
)
_PLACES = frozenset({"PATH", "PYTHONPATH", "NODE_PATH", "VIRTUAL_ENV"})


def relocated_environ(environ: Mapping[str, str], *, workspace: Path, folder: Path) -> dict[str, str]:
    """The variables for a program in `folder`, which stands for `workspace`.

    Places in the workspace become those in the folder where they are there too: a virtual environment that is
    active, the sources that Python or Node is to look at.
    """
    kept = {name: value for name, value in environ.items() if name not in _OF_ONE_REPOSITORY}
    person, own = matching_roots(workspace, folder)
    for name in _PLACES & kept.keys():
        parts = (_moved(part, person, own) for part in kept[name].split(os.pathsep))
        kept[name] = os.pathsep.join(parts)
    kept.pop("OLDPWD", None)
    return {**kept, "PWD": str(folder)}


def relocated_command(command: Sequence[str], *, workspace: Path) -> tuple[str, ...]:
    """A command that may name files of the workspace, for a program that stands elsewhere."""
    program, *words = command
    if program != Path(program).name:
        program = str(workspace / program)
    return (program, *(str(workspace / word) if _is_file(workspace, word) else word for word in words))


def matching_roots(workspace: Path, folder: Path) -> tuple[Path, Path]:
    """The trees of which the two are the same part, if those are repositories; else the two themselves."""
    outer, own = workspace, folder
    while not ((outer / ".git").exists() and (own / ".git").exists()):
        if not outer.name or outer.name != own.name:
            return workspace, folder
        outer, own = outer.parent, own.parent
    return outer, own


def _moved(part: str, person: Path, own: Path) -> str:
    if not part or not Path(part).is_relative_to(person):
        return part
    moved = own / Path(part).relative_to(person)
    return str(moved) if moved.exists() else part


def _is_file(workspace: Path, word: str) -> bool:
    try:
        return not Path(word).is_absolute() and (workspace / word).is_file()
    except (OSError, ValueError):
        return False
