"""Nodes: servers of a team that run sessions beside each other, on one log."""

from pathlib import PurePath

import msgspec


class NodeDescription(msgspec.Struct, frozen=True, kw_only=True):
    """Description of a node when it joins. `folders` are those that it shares, under the same path, with others."""

    name: str
    address: str
    version: str
    labels: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    capacity: int = 20


class NodeRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A node as the others see it. One that was silent for too long is not `alive`."""

    about: NodeDescription
    sessions: int
    draining: bool
    drained: bool
    """Whether it drains and has no session open any more."""
    alive: bool
    silent_seconds: float

    @property
    def name(self) -> str:
        return self.about.name

    @property
    def takes_sessions(self) -> bool:
        return self.alive and not self.draining

    @property
    def load(self) -> float:
        return self.sessions / max(self.about.capacity, 1)

    def shares(self, folder: str) -> bool:
        """Whether a folder is one that the node shares with others, or below one."""
        path = PurePath(folder)
        return any(path.is_relative_to(root) for root in self.about.folders)


class SessionOwner(msgspec.Struct, frozen=True):
    """The node that has a session open, or had it last. Without a name it was no node."""

    node: str
    is_open: bool
