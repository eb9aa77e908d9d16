"""`portico approvals`: list and revoke permission grants that were kept for good."""

import os
import time
from collections.abc import Sequence

import msgspec

from portico.cli.arguments import CommandParser, refuse
from portico.conductor.permissions.approvals import Approval, FileApprovals
from portico.config.paths import state_folder
from portico.domain.errors import InvalidInput
from portico.domain.events import format_time
from portico.doors.terminal.sanitizer import clean_line

_DESCRIPTION = """What was allowed for good, and taking it back.

  portico approvals list
  portico approvals revoke ID
"""


def run(arguments: Sequence[str]) -> int:
    parser = CommandParser("approvals", _DESCRIPTION)
    parser.add_argument("action", choices=["list", "revoke"])
    parser.add_argument("id", nargs="?", help="the approval to take back; a unique beginning will do")
    flags = parser.parse_intermixed_args(arguments)
    path = state_folder(os.environ) / "approvals.json"
    approvals = FileApprovals(path, lambda: time.time_ns() // 1_000_000)
    if flags.action == "revoke":
        if not flags.id:
            raise InvalidInput(
                "portico approvals revoke needs an id.", suggestion="See them with: portico approvals list"
            )
        revoked = approvals.revoke(flags.id)
        _print([revoked], "Taken back: ", api=flags.api)
        return 0
    refuse("portico approvals list", flags.id)
    found = list(approvals.list())
    if not found and not flags.api:
        print("Nothing is allowed for good.")
        return 0
    _print(found, "", api=flags.api)
    return 0


def _print(approvals: list[Approval], opening: str, *, api: bool) -> None:
    if api:
        print(msgspec.json.encode({"status": "ok", "approvals": approvals}).decode())
        return
    for one in approvals:
        used = f"used {one.uses} times" if one.uses != 1 else "used once"
        last = f", last {format_time(one.last_used)[:10]}" if one.last_used else ""
        where = f" in {one.workspace}" if one.workspace else ""
        rule = clean_line(one.rule.replace("\n", "\\n"))
        print(f"{opening}{one.id}  {rule}  {one.agent or 'any agent'}{where}  ({used}{last})")
