"""`portico costs`: what sessions cost, from the log alone."""

import argparse
import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import get_args

from portico.app.host import open_host
from portico.cli.arguments import CommandParser, print_json, read_since
from portico.config.model_settings import BudgetSetting
from portico.config.paths import config_folder
from portico.config.settings import load_settings
from portico.domain.costs import SpendingGrouping, total_spending

_DESCRIPTION = """Show what sessions cost, as their agents report it.

  portico costs
  portico costs --by model --since 7d
"""
_DEFAULT_SINCE = "30d"


def run(arguments: Sequence[str]) -> int:
    parser = CommandParser("costs", _DESCRIPTION)
    parser.add_argument(
        "--by", choices=get_args(SpendingGrouping), default="day", help="grouping (default: day)"
    )
    parser.add_argument(
        "--since",
        metavar="TIME",
        default=_DEFAULT_SINCE,
        help="2026-11-17, or an age like 3h, 7d, 2w (default: 30d)",
    )
    flags = parser.parse(arguments)
    asyncio.run(_show(flags, os.environ))
    return 0


async def _show(flags: argparse.Namespace, environ: Mapping[str, str]) -> None:
    async with open_host(environ) as host:
        since = read_since(flags.since, host.clock.now_ms())
        found = await host.store.spending(since_ms=since)
    totals = total_spending(found, flags.by)
    limits = _limits(environ)
    if flags.api:
        budgets = {
            "turn": limits.turn.dollars,
            "session": limits.session.dollars,
            "day": limits.day.dollars,
        }
        print_json(by=flags.by, totals=totals, budgets=budgets)
        return
    from portico.doors.terminal.render.cost_chart import print_costs

    print_costs(
        totals,
        whole=total_spending(found, "all"),
        limits=limits,
        by=flags.by,
        home=environ.get("HOME", ""),
    )


def _limits(environ: Mapping[str, str]) -> BudgetSetting:
    """The budgets that hold in this folder."""
    # Late: it imports the models.
    from portico.porter.models.budget import effective_limits

    return effective_limits(load_settings(config_folder(environ), Path.cwd()), environ)
