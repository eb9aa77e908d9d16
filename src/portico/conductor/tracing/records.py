"""The records of a trace file, one JSON object per line.

Links are called by name: `editor` and `agent` at the ends, the proxies by their own, `conductor` for what the
chain says itself.
"""

from collections.abc import Iterable
from typing import Literal

import msgspec
from msgspec import Raw

from portico.conductor.observer import ClosedBy
from portico.rpc.frames import Direction as WireDirection
from portico.rpc.messages import FaultKind

VERSION = 1
EDITOR, AGENT, CONDUCTOR = "editor", "agent", "conductor"

ChainDirection = Literal["to_agent", "to_editor"]


class TraceStarted(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="trace"):
    """A program began to write here. Several may, one after another or side by side."""

    at: str
    version: int = VERSION
    portico: str


class ChainOpened(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="opened"):
    """A chain was built, of these links from the editor to the agent."""

    at: str
    chain: str
    links: tuple[str, ...]


class TraceFrame(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    tag_field="type",
    tag="frame",
    rename={"sender": "from", "receiver": "to"},
):
    """A frame on its way from one link to another. The links in between did not look at it."""

    at: str
    chain: str
    direction: ChainDirection
    sender: str
    receiver: str
    frame: Raw


class ProgramFrame(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="wire"):
    """A frame as a proxy that is a program got it or sent it: under its own ids, the agent's side wrapped."""

    at: str
    chain: str
    link: str
    direction: WireDirection
    frame: Raw


class TraceFault(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="fault", rename={"sender": "from"}
):
    """Something that an end sent and that went no further."""

    at: str
    chain: str
    sender: str
    kind: FaultKind
    detail: str
    sample: str
    size: int


class ChainClosed(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="closed"):
    """The chain is over, because of whom."""

    at: str
    chain: str
    gone: ClosedBy


ChainRecord = ChainOpened | TraceFrame | ProgramFrame | TraceFault | ChainClosed
TraceRecord = TraceStarted | ChainRecord


def link_names(nodes: Iterable[str]) -> tuple[str, ...]:
    """A name for each link, no two the same."""
    names = [EDITOR]
    taken = {EDITOR, AGENT, CONDUCTOR}
    for node in nodes:
        name, count = node, 1
        while name in taken:
            count += 1
            name = f"{node} {count}"
        taken.add(name)
        names.append(name)
    return (*names, AGENT)
