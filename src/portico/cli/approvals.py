"""`portico approvals`: list and revoke permanent permission grants."""

import argparse
import asyncio
import os
import time
from collections.abc import Sequence

import msgspec

from portico.app.event_log import chosen_log
from portico.cli.arguments import CommandGroup, print_json
from portico.conductor.permissions.approvals import Approval, FileApprovals
from portico.config.paths import state_folder
from portico.domain.timestamps import format_time
from portico.doors.terminal.sanitizer import clean_line
from portico.sessions.log.decisions import RecordedDecision, list_decisions

_PAGE = 500


def run(arguments: Sequence[str]) -> int:
    group = CommandGroup("approvals", "Permissions that you have granted permanently.")
    group.add("list", "list the grants", _list)
    revoke = group.add("revoke", "revoke a grant", _revoke, hint="See their IDs with: portico approvals list")
    revoke.add_argument("id", metavar="ID", help="grant (ID or unique prefix)")
    group.add(
        "export",
        "print every decision on a permission request, of all sessions, one JSON object a line",
        _export,
    )
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


def _export(_flags: argparse.Namespace) -> int:
    asyncio.run(_print_decisions())
    return 0


async def _print_decisions() -> None:
    store, after = chosen_log(os.environ), None
    await store.open()
    try:
        while True:
            page = await list_decisions(store, after=after, limit=_PAGE)
            for one in page.decisions:
                print(msgspec.json.encode(_exported(one)).decode())
            if (after := page.next_after) is None:
                return
    finally:
        await store.close()


def _exported(one: RecordedDecision) -> dict[str, object]:
    resolved = one.resolved
    return {
        "at": format_time(one.at),
        "sessionId": one.session.session_id,
        "seq": one.seq,
        "workspace": one.session.workspace,
        "agent": one.session.agent,
        "request": one.request.title,
        "outcome": resolved.outcome,
        "by": resolved.by,
        "person": resolved.person,
        "scope": resolved.scope,
        "rule": resolved.rule,
    }


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
