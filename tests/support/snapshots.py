"""Whole conversations as text, kept beside the tests: what is said is compared, who made up which id is not.

Each message is a line: who sent it, what it is, and its contents. Ids of requests and whatever else differs
between two runs is given a name that does not. To write the kept conversations anew, run the tests with
PORTICO_WRITE_SNAPSHOTS=1 and read the difference before you commit it.
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from portico.domain import codecs
from portico.testing import FrameChecker
from tests.acp.schema_examples import SCHEMA
from tests.support.stream import Json

FOLDER = Path(__file__).parents[1] / "end_to_end" / "snapshots"
# Read now: during a test no variable of Portico's is set but the test's own.
_WRITING = os.environ.get("PORTICO_WRITE_SNAPSHOTS") == "1"

Side = Literal["client", "agent"]


class Spoken(msgspec.Struct, frozen=True, rename={"sender": "from"}):
    """One message, as the client sent or received it."""

    sender: Side
    message: dict[str, Any]


def read_conversation(lines: bytes) -> list[Spoken]:
    """Output of a client, with every message checked against the official schema."""
    spoken = [codecs.decode_json(line, Spoken) for line in lines.splitlines()]
    checker = FrameChecker(SCHEMA)
    for one in spoken:
        direction: Literal["sent", "received"] = "sent" if one.sender == "client" else "received"
        problems = checker.check(direction, msgspec.json.encode(one.message), one.sender)
        assert problems == [], problems
    return spoken


def in_lines(conversation: Sequence[Spoken], names: Mapping[str, str]) -> str:
    """The conversation, with each text of `names` replaced by its name wherever it stands."""
    ids: dict[tuple[Side, object], str] = {}
    lines = []
    for one in conversation:
        words = _in_words(one, ids)
        for text in sorted(names, key=len, reverse=True):
            words = words.replace(text, names[text])
        lines.append(f"{words}\n")
    return "".join(lines)


def check_snapshot(name: str, text: str) -> None:
    """AssertionError if the text is not the one that was kept under this name."""
    path = FOLDER / f"{name}.txt"
    if _WRITING:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert path.exists(), f"{path.name} was never written; see {__name__}"
    assert text.splitlines() == path.read_text().splitlines()


def _in_words(spoken: Spoken, ids: dict[tuple[Side, object], str]) -> str:
    sender, message = spoken.sender, spoken.message
    other: Side = "agent" if sender == "client" else "client"
    if "method" not in message:
        asked = ids[other, message["id"]]
        kind = "error" if "error" in message else "result"
        return f"{sender} {kind} {asked} {_compact(message[kind])}"
    said = f"{message['method']} {_compact(message.get('params'))}"
    if "id" not in message:
        return f"{sender} notification {said}"
    mine = sum(1 for asker, _ in ids if asker == sender)
    ids[sender, message["id"]] = f"{sender}-{mine + 1}"
    return f"{sender} request {ids[sender, message['id']]} {said}"


def _compact(value: Json | None) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
