"""`portico schema stream`: prints the JSON Schema of `exec --json-stream`."""

from collections.abc import Sequence

import msgspec

from portico.cli.arguments import CommandParser


def run(arguments: Sequence[str]) -> int:
    parser = CommandParser("schema", "Print the JSON Schema of one line of `portico exec --json-stream`.")
    parser.add_argument("contract", choices=["stream"], help="which contract to print")
    parser.parse_args(arguments)
    from portico.doors.ndjson import stream_schema

    print(msgspec.json.format(msgspec.json.encode(stream_schema()), indent=2).decode())
    return 0
