"""Costs as small bars, with totals and budgets."""

import sys
from collections.abc import Sequence
from typing import TextIO

from portico.config.model_settings import BudgetSetting
from portico.domain.costs import SpendingGrouping, SpendingTotal
from portico.doors.terminal import labels
from portico.doors.terminal.output import plain_columns
from portico.doors.terminal.sanitizer import clean_line
from portico.doors.terminal.theme import signs_for

_EIGHTHS = " ▏▎▍▌▋▊▉"
_WIDEST_BAR = 40
_WIDEST_NAME = 44
_NARROWEST_BAR = 6
_UNKNOWN = {"model": "unknown model", "session": "untitled"}


def print_costs(
    totals: Sequence[SpendingTotal],
    *,
    whole: Sequence[SpendingTotal],
    limits: BudgetSetting,
    by: SpendingGrouping,
    home: str = "",
    output: TextIO | None = None,
) -> None:
    """Print a bar for each group, by default on standard output; columns of text in a pipe."""
    target = output or sys.stdout
    if not totals:
        target.write("No costs or tokens were reported in this period.\n")
        return
    rows = [(_name(one, by, home), _cost(one), _tokens(one), one) for one in totals]
    if not target.isatty():
        target.write(plain_columns([(name, cost, tokens) for name, cost, tokens, _ in rows]))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=target, highlight=False, markup=False, emoji=False)
    names = max(min(labels.display_width(name), _WIDEST_NAME) for name, *_ in rows)
    costs = max(len(cost) for _, cost, *_ in rows)
    tokens = max(len(count) for _, _, count, _ in rows)
    room = console.width - names - costs - tokens - 7
    unicode = signs_for(console.encoding).unicode
    most = _most(totals)
    for name, cost, count, one in rows:
        label = Text(name)
        label.truncate(names, overflow="ellipsis", pad=True)
        line = Text.assemble(label, "  ", (cost.rjust(costs), "bold"), "  ", (count.rjust(tokens), "dim"))
        if room >= _NARROWEST_BAR:
            line.append("  ").append(bar(_weight(one, most), min(room, _WIDEST_BAR), unicode=unicode), "cyan")
        line.no_wrap, line.overflow = True, "crop"
        console.print(line)
    facts = [f"{_cost(one)} in {labels.pluralize(one.sessions, 'session')}" for one in whole]
    console.print(Text(f"Total: {', '.join(facts)}", "bold"))
    if words := budget_words(limits):
        console.print(Text(words, "dim"))


def bar(share: float, width: int, *, unicode: bool = True) -> str:
    """A bar for a share of 0 to 1; anything above 0 is visible."""
    if not unicode:
        return "#" * max(round(share * width), 1 if share > 0 else 0)
    eighths = max(round(share * width * 8), 1 if share > 0 else 0)
    whole, part = divmod(eighths, 8)
    return "█" * whole + (_EIGHTHS[part] if part else "")


def budget_words(limits: BudgetSetting) -> str:
    """The budgets in dollars, on one line; empty without any."""
    named = (("a turn", limits.turn), ("a session", limits.session), ("a day", limits.day))
    found = [
        f"{labels.money(limit.dollars, None)} {name}" for name, limit in named if limit.dollars is not None
    ]
    return f"Porter's budgets: {', '.join(found)}" if found else ""


def _name(total: SpendingTotal, by: SpendingGrouping, home: str) -> str:
    if by == "folder":
        return labels.short_path(total.title, home=home)
    return clean_line(total.title) or _UNKNOWN.get(by, "unknown")


def _cost(total: SpendingTotal) -> str:
    return "no price" if total.cost is None else labels.money(total.cost, total.currency)


def _tokens(total: SpendingTotal) -> str:
    tokens = total.input_tokens + total.output_tokens
    return f"{labels.number(tokens)} tokens" if tokens else ""


def _most(totals: Sequence[SpendingTotal]) -> dict[str, float]:
    """The longest bar of each currency; bars of groups without a price show tokens."""
    most: dict[str, float] = {}
    for one in totals:
        key, value = _measure(one)
        most[key] = max(most.get(key, 0.0), value)
    return most


def _measure(total: SpendingTotal) -> tuple[str, float]:
    if total.cost is None:
        return "tokens", float(total.input_tokens + total.output_tokens)
    return total.currency, total.cost


def _weight(total: SpendingTotal, most: dict[str, float]) -> float:
    key, value = _measure(total)
    return value / most[key] if most[key] else 0.0
