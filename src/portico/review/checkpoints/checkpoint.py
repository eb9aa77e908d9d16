"""Values of checkpoints: the checkpoint, when it was taken, the result of a restore, retention."""

import secrets
from enum import StrEnum

import msgspec

from portico.domain.ids import make_session_id
from portico.review.files.omitted_file import OmittedFile
from portico.review.git.tree_changes import TreeChange
from portico.review.text.names import escape_bytes

_NAMED_LEFT_OUT = 50


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


class CheckpointEntry(msgspec.Struct, frozen=True):
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


def make_checkpoint(
    snapshot: Snapshot, label: str, moment: Moment, newest: Checkpoint | None, at_ms: int
) -> Checkpoint:
    """A checkpoint of a snapshot, with an id that sorts after the newest one."""
    if newest is not None:
        at_ms = max(at_ms, newest.at_ms + 1)  # Ids sort by time, also within a millisecond.
    named = tuple(OmittedFile(_plain(each.path), each.reason) for each in snapshot.left_out[:_NAMED_LEFT_OUT])
    return Checkpoint(
        id=make_session_id(at_ms, secrets.token_bytes(7)),
        at_ms=at_ms,
        label=_plain(label),
        moment=moment,
        tree=snapshot.tree,
        permissions=snapshot.permissions,
        left_out=named,
        left_out_count=len(snapshot.left_out),
    )


def _plain(text: str) -> str:
    """One printable line; bytes that are not text are escaped."""
    return escape_bytes(text).replace("\n", " ")
