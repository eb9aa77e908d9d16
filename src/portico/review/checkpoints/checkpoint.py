"""Values of checkpoints: the checkpoint, when it was taken, the result of a restore, retention."""

from enum import StrEnum

import msgspec

from portico.review.files.omitted_file import OmittedFile
from portico.review.git.tree_changes import TreeChange


class Snapshot(msgspec.Struct, frozen=True):
    """A tree in the snapshot repository, the name of its files' permissions, and the files that it lacks."""

    tree: str
    permissions: str
    left_out: tuple[OmittedFile, ...] = ()


class Moment(StrEnum):
    """The moment of a checkpoint. Changes between `before` and `after` a turn or an apply are the agent's.

    One from before a branch is kept, however old, until it is released.
    """

    BEFORE_TURN = "before_turn"
    AFTER_TURN = "after_turn"
    BEFORE_APPLY = "before_apply"
    BEFORE_RESTORE = "before_restore"
    BEFORE_BRANCH = "before_branch"


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A working tree as it was. `left_out` names the first files that are not held, `left_out_count` all.

    A `watch` was taken only to compare the tree with it after a turn.
    """

    id: str
    at_ms: int
    label: str
    moment: Moment
    tree: str
    permissions: str | None = None
    left_out: tuple[OmittedFile, ...] = ()
    left_out_count: int = 0
    watch: bool = False
    session: str = ""
    """The session that it was taken for. Empty: it is not known."""

    def holds(self, snapshot: Snapshot) -> bool:
        return (self.tree, self.permissions) == (snapshot.tree, snapshot.permissions)


class ListedCheckpoint(msgspec.Struct, frozen=True):
    """A checkpoint, and the files that changed until the next one or, after the newest, until now.

    None: the current files could not be read.
    """

    checkpoint: Checkpoint
    changed: tuple[str, ...] | None


class RestoredCheckpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a restore. `kept` holds the tree from before; `changes` are the person's, to be proposed
    again.

    A change leads from the restored content to that in `kept`. `own` are pairs of checkpoints between which
    only the person changed files.
    """

    checkpoint: Checkpoint
    kept: Checkpoint
    changes: tuple[TreeChange, ...]
    undone: tuple[TreeChange, ...]
    own: tuple[tuple[str, str], ...]


class Retention(msgspec.Struct, frozen=True):
    """Number and age of the checkpoints that are kept for each workspace."""

    count: int = 200
    milliseconds: int = 30 * 24 * 3600 * 1000

    @property
    def slack(self) -> int:
        """Number of checkpoints above `count` that may accumulate before they are pruned, since pruning takes
        git longer than a checkpoint.
        """
        return self.count // 10
