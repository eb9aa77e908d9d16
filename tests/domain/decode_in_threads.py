"""Program that decodes every kind of type for the first time in many threads at once.

It exits with 0, or dies by the signal that msgspec's half-made type information causes. With the argument `msgspec`
it calls msgspec directly, which shows that the program finds the crash.
"""

import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

import msgspec

from portico.domain import codecs

THREADS = 6
ROUNDS = 200

# String annotations, a union, a recursive type and types shared by two outer ones: all are worked out late.
SOURCE = """
from __future__ import annotations
import dataclasses, enum, typing, msgspec

class Colour(enum.Enum):
    RED = "red"

class Leaf(msgspec.Struct, tag="leaf"):
    a: int | None = None
    b: list[str] | None = None
    c: dict[str, int] | None = None
    d: Colour = Colour.RED

class Branch(msgspec.Struct, tag="branch"):
    left: Leaf | Branch
    right: Leaf | Branch | None = None
    note: str = ""

@dataclasses.dataclass
class Record:
    leaf: Leaf
    branch: Branch

class Entry(typing.TypedDict):
    leaf: Leaf
    record: Record

class Tree(msgspec.Struct):
    leaf: Leaf
    root: Branch
    entry: Entry
    leaves: list[Leaf]
"""
LEAF = {"type": "leaf", "a": 1, "b": ["x"], "c": {"k": 2}, "d": "red"}
BRANCH = {"type": "branch", "left": LEAF, "right": {"type": "branch", "left": LEAF}, "note": "n"}
ENTRY = {"leaf": LEAF, "record": {"leaf": LEAF, "branch": BRANCH}}
TREE = {"leaf": LEAF, "root": BRANCH, "entry": ENTRY, "leaves": [LEAF, LEAF]}
JSON, PACKED = msgspec.json.encode(TREE), msgspec.msgpack.encode(TREE)


def decode_safely(types: Any) -> list[Callable[[], object]]:
    return [
        lambda: codecs.decode_json(JSON, types.Tree),
        lambda: codecs.decode_msgpack(PACKED, types.Tree),
        lambda: codecs.convert(TREE, types.Tree),
        lambda: codecs.decode_json(msgspec.json.encode([BRANCH]), list[types.Leaf | types.Branch]),
        lambda: codecs.convert(ENTRY, types.Entry),
        lambda: codecs.json_decoder(types.Branch).decode(msgspec.json.encode(BRANCH)),
    ]


def decode_directly(types: Any) -> list[Callable[[], object]]:
    return [lambda: msgspec.json.decode(JSON, type=types.Tree)] * THREADS  # noqa: TID251 - the crash itself


def run(actions: list[Callable[[], object]]) -> None:
    """Perform one action in each thread, all at the same moment."""
    start = threading.Barrier(len(actions))
    failures: list[BaseException] = []

    def perform(action: Callable[[], object]) -> None:
        start.wait(30)
        try:
            action()
        except BaseException as failure:
            failures.append(failure)
            raise

    threads = [threading.Thread(target=perform, args=[action]) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def main() -> None:
    sys.setswitchinterval(1e-7)
    choose = decode_directly if sys.argv[1:] == ["msgspec"] else decode_safely
    for number in range(ROUNDS):
        types = ModuleType(f"types_{number}")
        sys.modules[types.__name__] = types
        exec(SOURCE, types.__dict__)
        run(choose(types))


if __name__ == "__main__":
    main()
