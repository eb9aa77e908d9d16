"""Numbered checklists, shared by the plan and the to-do list."""

from collections.abc import Iterable

from portico.domain.errors import InvalidInput
from portico.porter.transcript import ChecklistItem


def render_checklist(items: Iterable[ChecklistItem]) -> str:
    """Render items as a numbered Markdown checklist."""
    return "\n".join(
        f"{number}. [{'x' if item.done else ' '}] {item.text}" for number, item in enumerate(items, 1)
    )


def item_index(items: tuple[ChecklistItem, ...], word: str) -> int:
    """Return the index of the item with this number. Raises InvalidInput for an unknown number."""
    number = int(word) if word.isascii() and word.isdigit() and len(word) < 6 else 0
    if not 1 <= number <= len(items):
        valid = f"Items are numbered 1 to {len(items)}." if items else "The list is empty."
        raise InvalidInput(f"Unknown item {word!r}. {valid}")
    return number - 1


def mark_done(items: tuple[ChecklistItem, ...], index: int) -> tuple[ChecklistItem, ...]:
    return (*items[:index], ChecklistItem(items[index].text, done=True), *items[index + 1 :])


def remove_item(items: tuple[ChecklistItem, ...], index: int) -> tuple[ChecklistItem, ...]:
    return (*items[:index], *items[index + 1 :])


def one_line(text: str) -> str:
    return " ".join(text.split())
