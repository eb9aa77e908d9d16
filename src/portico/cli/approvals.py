"""`portico approvals`: list and revoke permanent permission grants."""

import argparse
import os
import time
from collections.abc import Sequence

from portico.cli.arguments import CommandGroup, print_json
from portico.conductor.permissions.approvals import Approval, FileApprovals
from portico.config.paths import state_folder
from portico.domain.timestamps import format_time
from portico.doors.terminal.sanitizer import clean_line


def run(arguments: Sequence[str]) -> int:
    group = CommandGroup("approvals", "Permissions that you have granted permanently.")
    group.add("list", "list the grants", _list)
    revoke = group.add("revoke", "revoke a grant", _revoke, hint="See their IDs with: portico approvals list")
    revoke.add_argument("id", metavar="ID", help="grant (ID or unique prefix)")
    return group.run(arguments)


def _list(flags: argparse.Namespace) -> int:
    found = list(_approvals().list())
    if not found and not flags.api:
        print("No permissions have been granted permanently.")
        return 0
    _print(found, "", api=flags.api)
    return 0


def _revoke(flags: argparse.Namespace) -> int:
    _print([_approvals().revoke(flags.id)], "Revoked: ", api=flags.api)
    return 0


def _approvals() -> FileApprovals:
    return FileApprovals(state_folder(os.environ) / "approvals.json", lambda: time.time_ns() // 1_000_000)


def _print(approvals: list[Approval], opening: str, *, api: bool) -> None:
    if api:
        print_json(approvals=approvals)
        return
    for one in approvals:
        used = f"used {one.uses} times" if one.uses != 1 else "used once"
        last = f", last {format_time(one.last_used)[:10]}" if one.last_used else ""
        where = f" in {one.workspace}" if one.workspace else ""
        rule = clean_line(one.rule.replace("\n", "\\n"))
        print(f"{opening}{one.id}  {rule}  {one.agent or 'any agent'}{where}  ({used}{last})")
