"""`portico pair`: connect a phone or another browser to the server by a QR code."""

import os
import time
from collections.abc import Sequence
from pathlib import Path

from portico.cli.arguments import CommandParser, print_json
from portico.client.discovery import RunningServer, find_server
from portico.config.devices import CODE_SECONDS, DeviceFile
from portico.config.paths import state_folder
from portico.config.server_files import ServerFiles
from portico.domain.errors import ServerLost
from portico.domain.people import ROLES
from portico.doors.terminal.qr_code import draw_qr_code

_DESCRIPTION = """Connect a phone or another browser to your server, with a code that works once.

  portico pair                               a device of your own
  portico pair --name Ada --role viewer      a device that can only read

A collaborator can send prompts, answer and apply changes, but not change settings, keys or kept rules.
"""


def run(arguments: Sequence[str]) -> int:
    parser = CommandParser("pair", _DESCRIPTION)
    parser.add_argument("--name", default="", help="name of the device in lists and in the log")
    parser.add_argument(
        "--role", choices=ROLES, default="owner", help="what the device may do (default: owner)"
    )
    parser.add_argument(
        "--workspace",
        action="append",
        default=[],
        metavar="DIR",
        help="folder whose sessions the device sees (default: all)",
    )
    flags = parser.parse(arguments)
    folder = state_folder(dict(os.environ))
    found = find_server(ServerFiles(folder))
    if not isinstance(found, RunningServer):
        raise ServerLost("No Portico server is running.", suggestion="Start one with: portico serve --detach")
    workspaces = tuple(str(Path(one).resolve()) for one in flags.workspace)
    now_ms = time.time_ns() // 1_000_000
    code = DeviceFile(folder).offer(name=flags.name, role=flags.role, workspaces=workspaces, now_ms=now_ms)
    record = found.record
    url = f"{record.public_url or record.url}#token={code}"
    if flags.api:
        print_json(url=url, code=code, expiresInSeconds=CODE_SECONDS)
        return 0
    if (drawn := draw_qr_code(url)) is not None:
        print(drawn)
    print(f"\nScan the code, or open: {url}")
    print(f"It works once, within {CODE_SECONDS // 60} minutes. portico devices list shows what is paired.")
    if not record.public_url:
        port = record.port
        print(
            "The server listens on this machine only. From another one, open a tunnel first: "
            f"ssh -L {port}:127.0.0.1:{port} THIS_MACHINE"
        )
    return 0
