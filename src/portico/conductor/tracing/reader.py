"""Reads a trace file line by line; lines that cannot be read are reported and skipped."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from portico.conductor.tracing.records import (
    AGENT,
    EDITOR,
    ChainOpened,
    ChainRecord,
    TraceRecord,
    TraceStarted,
)
from portico.domain import codecs
from portico.domain.errors import FileMissing, InvalidInput, MalformedEvent

_decoder = codecs.json_decoder(TraceRecord)


class UnreadableLine(msgspec.Struct, frozen=True):
    """A line that is no record of a trace."""

    line: int
    problem: str


class TracedChain(msgspec.Struct, frozen=True):
    """One chain of a file. `number` counts from 1, in the order in which they began."""

    number: int
    id: str
    at: str
    links: tuple[str, ...]


class TraceFile:
    """A file on disk. It is read again each time, so that its length does not matter."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.chains: tuple[TracedChain, ...] = ()
        self.unreadable: tuple[UnreadableLine, ...] = ()

    @classmethod
    def open(cls, path: Path) -> "TraceFile":
        """Look through a file once. MalformedEvent if it has no trace in it at all."""
        file = cls(path)
        chains: dict[str, TracedChain] = {}
        unreadable: list[UnreadableLine] = []
        readable = 0
        for record in file._lines():
            if isinstance(record, UnreadableLine):
                unreadable.append(record)
                continue
            readable += 1
            if isinstance(record, TraceStarted):
                continue
            # What was refused before a chain was built stands before its `opened`.
            chain = chains.get(record.chain) or TracedChain(
                len(chains) + 1, record.chain, record.at, (EDITOR, AGENT)
            )
            links = record.links if isinstance(record, ChainOpened) else chain.links
            chains[record.chain] = msgspec.structs.replace(chain, links=links)
        if not readable:
            first = unreadable[0] if unreadable else UnreadableLine(1, "it is empty")
            raise MalformedEvent(
                f"{path} is not a trace: line {first.line} cannot be read ({first.problem}).",
                suggestion="Traces are written by portico acp, exec or chat with --trace FILE.",
            )
        file.chains, file.unreadable = tuple(chains.values()), tuple(unreadable)
        return file

    def records(self, chain: TracedChain) -> Iterator[tuple[int, ChainRecord]]:
        """The records of one chain, in order, with their line numbers."""
        for number, record in enumerate(self._lines(), start=1):
            if not isinstance(record, UnreadableLine | TraceStarted) and record.chain == chain.id:
                yield number, record

    def _lines(self) -> Iterator[TraceRecord | UnreadableLine]:
        try:
            with self.path.open("rb") as file:
                for number, line in enumerate(file, start=1):
                    yield _record(number, line)
        except FileNotFoundError as error:
            raise FileMissing(f"The trace {self.path} does not exist.") from error
        except OSError as error:
            raise InvalidInput(f"The trace {self.path} cannot be read: {error.strerror}.") from error


def _record(number: int, line: bytes) -> TraceRecord | UnreadableLine:
    try:
        line.decode()
        record: TraceRecord = _decoder.decode(line)
        return record
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return UnreadableLine(number, str(error))
