"""Plans of the agent as one list of steps, and the session's to-do list.

An agent may mark the last entries of its plan as to-dos: those are the session's list, which the person can edit.
"""

import re
from collections.abc import Iterator

from portico.acp import _schema as acp
from portico.acp.extensions import PlanMeta, from_meta
from portico.domain.content_blocks import file_name_of
from portico.domain.events import PlanUpdated, TodosUpdated
from portico.domain.values import PlanEntry, TodoItem
from portico.sessions.content.translation import as_raw

_STEP = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(?:\[([ xX])\]\s+)?(\S.*?)\s*$")


class Plans:
    """The newest version of each plan, in the order of their first appearance, and the to-do list."""

    def __init__(self) -> None:
        self._entries: dict[str | None, tuple[PlanEntry, ...]] = {}
        self.todos: tuple[TodoItem, ...] | None = None
        """None until there is one."""

    def take(
        self, update: acp.Plan | acp.PlanUpdate | acp.PlanRemoved
    ) -> Iterator[PlanUpdated | TodosUpdated]:
        match update:
            case acp.Plan(entries=entries, meta=meta):
                yield from self._sorted(_items(entries), from_meta(meta, PlanMeta).todos)
                return
            case acp.PlanUpdate(plan=plan):
                self._entries[plan.plan_id] = _steps(plan)
            case acp.PlanRemoved(plan_id=plan_id):
                self._entries.pop(plan_id, None)
        yield PlanUpdated(entries=self._all(), raw=as_raw(update))

    def _sorted(
        self, entries: tuple[PlanEntry, ...], count: int | None
    ) -> Iterator[PlanUpdated | TodosUpdated]:
        """Changes of a plan with marked to-dos. Items that the person wrote keep their ids."""
        before = self._entries.get(None, ())
        steps = entries if count is None else entries[: max(len(entries) - count, 0)]
        self._entries[None] = steps
        if count is None or steps != before:
            yield PlanUpdated(entries=self._all())
        if count is None:
            return
        todos = tuple(self._todo(entry, place) for place, entry in enumerate(entries[len(steps) :], 1))
        if todos != (self.todos or ()):
            self.todos = todos
            yield TodosUpdated(todos=todos)

    def _todo(self, entry: PlanEntry, place: int) -> TodoItem:
        before = self.todos or ()
        known = before[place - 1] if place <= len(before) else None
        same = known is not None and known.content == entry.content
        return TodoItem(
            todo_id=known.todo_id if known is not None and same else f"todo-{place}",
            content=entry.content,
            status=entry.status,
            priority=known.priority if known is not None and same else entry.priority,
        )

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
            return (PlanEntry(content=f"The plan is in {file_name_of(uri)}"),)
        case acp.PlanMarkdown(content=content):
            return _listed(content)


def _listed(markdown: str) -> tuple[PlanEntry, ...]:
    """The list items of a Markdown page; its beginning if it has none."""
    found = [step for line in markdown.splitlines() if (step := _STEP.match(line))]
    if not found:
        first = next((line.strip("# ") for line in markdown.splitlines() if line.strip("# ")), None)
        return () if first is None else (PlanEntry(content=first),)
    return tuple(
        PlanEntry(content=step[2], status="completed" if step[1] in ("x", "X") else "pending")
        for step in found
    )
