"""The agent's plans, some of which have names, as the one list of steps that people follow."""

import re

from portico.acp import _schema as acp
from portico.domain.blocks import name_in
from portico.domain.events import PlanUpdated
from portico.domain.values import PlanEntry
from portico.sessions.translate import as_raw

_STEP = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(?:\[([ xX])\]\s+)?(\S.*?)\s*$")


class Plans:
    """Keeps the newest of each plan, in the order in which they were first seen."""

    def __init__(self) -> None:
        self._entries: dict[str | None, tuple[PlanEntry, ...]] = {}

    def take(self, update: acp.Plan | acp.PlanUpdate | acp.PlanRemoved) -> PlanUpdated:
        match update:
            case acp.Plan(entries=entries):
                self._entries[None] = _items(entries)
                return PlanUpdated(entries=self._all())
            case acp.PlanUpdate(plan=plan):
                self._entries[plan.plan_id] = _steps(plan)
            case acp.PlanRemoved(plan_id=plan_id):
                self._entries.pop(plan_id, None)
        return PlanUpdated(entries=self._all(), raw=as_raw(update))

    def _all(self) -> tuple[PlanEntry, ...]:
        return tuple(entry for entries in self._entries.values() for entry in entries)


def _items(entries: list[acp.PlanEntry]) -> tuple[PlanEntry, ...]:
    return tuple(
        PlanEntry(content=entry.content, priority=entry.priority, status=entry.status) for entry in entries
    )


def _steps(plan: acp.PlanUpdateContent) -> tuple[PlanEntry, ...]:
    match plan:
        case acp.PlanItems(entries=entries):
            return _items(entries)
        case acp.PlanFile(uri=uri):
            return (PlanEntry(content=f"The plan is in {name_in(uri)}"),)
        case acp.PlanMarkdown(content=content):
            return _listed(content)


def _listed(markdown: str) -> tuple[PlanEntry, ...]:
    """The list items of a page; its first words if it has none."""
    found = [step for line in markdown.splitlines() if (step := _STEP.match(line))]
    if not found:
        first = next((line.strip("# ") for line in markdown.splitlines() if line.strip("# ")), None)
        return () if first is None else (PlanEntry(content=first),)
    return tuple(
        PlanEntry(content=step[2], status="completed" if step[1] in ("x", "X") else "pending")
        for step in found
    )
