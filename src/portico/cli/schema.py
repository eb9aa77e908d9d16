"""`portico schema stream`: prints the JSON Schema of `exec --json-stream`."""

import argparse
from collections.abc import Sequence

import msgspec

from portico.cli.arguments import CommandGroup


def run(arguments: Sequence[str]) -> int:
    group = CommandGroup("schema", "JSON Schemas of what Portico prints for programs.")
    group.add("stream", "print the schema of one line of portico exec --json-stream", _stream)
    return group.run(arguments)


def _stream(_flags: argparse.Namespace) -> int:
    from portico.doors.ndjson import stream_schema

    print(msgspec.json.format(msgspec.json.encode(stream_schema()), indent=2).decode())
    return 0
