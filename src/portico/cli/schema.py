"""`portico schema stream`: the contract of `exec --json-stream`, for programs that check it."""

from collections.abc import Sequence

import msgspec

from portico.cli.arguments import Arguments


def run(arguments: Sequence[str]) -> int:
    parser = Arguments("schema", "Print the JSON Schema of one line of `portico exec --json-stream`.")
    parser.add_argument("contract", choices=["stream"], help="which contract to print")
    parser.parse_args(arguments)
    from portico.doors.ndjson import stream_schema

    print(msgspec.json.format(msgspec.json.encode(stream_schema()), indent=2).decode())
    return 0
