"""Differences of two trees of one repository: per file, with operation and line counts."""

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from portico.git.program import Git


class TreeOperation(StrEnum):
    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"


class TreeChange(msgspec.Struct, frozen=True):
    """Change to one file. `added` and `removed` count lines, and are None for binary files."""

    path: str
    operation: TreeOperation
    added: int | None
    removed: int | None
    executable: bool = False
    link: bool = False


_OPERATIONS = {"A": TreeOperation.CREATE, "D": TreeOperation.DELETE}


async def tree_changes(git: Git, old: str, new: str) -> tuple[TreeChange, ...]:
    """Sorted by path. A renamed file is one deleted and one created."""
    if old == new:
        return ()
    answer = await git.run(
        *("diff-tree", "-r", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules"),
        *("--raw", "--numstat", old, new),
    )
    kinds: dict[str, tuple[str, str]] = {}
    changes = []
    fields = iter(answer.names)
    for field in fields:
        if field.startswith(":"):
            facts = field.split(" ")
            kinds[next(fields)] = (facts[1], facts[4])
            continue
        added, removed, path = field.split("\t", 2)
        mode, state = kinds[path]
        changes.append(
            TreeChange(
                path,
                _OPERATIONS.get(state, TreeOperation.UPDATE),
                None if added == "-" else int(added),
                None if removed == "-" else int(removed),
                executable=mode == "100755",
                link=mode == "120000",
            )
        )
    return tuple(sorted(changes, key=lambda each: each.path))


async def changed_names(git: Git, pairs: Sequence[tuple[str, str]]) -> list[tuple[str, ...]]:
    """Paths that differ between the trees of each pair, by one run of git."""
    wanted = dict.fromkeys((old, new) for old, new in pairs if old != new)
    found: dict[tuple[str, str], list[str]] = {pair: [] for pair in wanted}
    if wanted:
        answer = await git.run(
            *("diff-tree", "--stdin", "-r", "-z", "--raw", "--no-renames", "--ignore-submodules"),
            given="".join(f"{old} {new}\n" for old, new in wanted).encode(),
        )
        pair = ("", "")
        fields = iter(answer.names)
        for field in fields:
            # A line with both trees comes before the first file of a pair.
            for line in field.split("\n")[:-1]:
                old, _, new = line.partition(" ")
                pair = (old, new)
            if field.rpartition("\n")[2].startswith(":"):
                found[pair].append(next(fields))
    return [tuple(found.get(pair, ())) for pair in pairs]
