"""Numbered checklists, shared by the plan and the to-do list."""

from collections.abc import Iterable

from portico.domain.errors import InvalidInput
from portico.porter.transcript import ChecklistItem


def render_checklist(items: Iterable[ChecklistItem]) -> str:
    """Items as Markdown that shows their numbers and what is done."""
    return "\n".join(
        f"{number}. [{'x' if item.done else ' '}] {item.text}" for number, item in enumerate(items, 1)
    )


def item_index(items: tuple[ChecklistItem, ...], word: str) -> int:
    """Which item a person means by a number. InvalidInput when there is none."""
    number = int(word) if word.isascii() and word.isdigit() and len(word) < 6 else 0
    if not 1 <= number <= len(items):
        there = f"from 1 to {len(items)}" if items else "yet: the list is empty"
        raise InvalidInput(f"Which one? There is no item {word!r}; the numbers go {there}.")
    return number - 1


def mark_done(items: tuple[ChecklistItem, ...], index: int) -> tuple[ChecklistItem, ...]:
    return (*items[:index], ChecklistItem(items[index].text, done=True), *items[index + 1 :])


def remove_item(items: tuple[ChecklistItem, ...], index: int) -> tuple[ChecklistItem, ...]:
    return (*items[:index], *items[index + 1 :])


def one_line(text: str) -> str:
    return " ".join(text.split())
