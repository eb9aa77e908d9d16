"""Numbered things to do, shared by the plan and the to-do list: shown, ticked off, removed."""

from collections.abc import Iterable

from portico.domain.errors import InvalidInput
from portico.porter.transcripts import Item


def checklist(items: Iterable[Item]) -> str:
    """Items as Markdown that shows their numbers and what is done."""
    return "\n".join(
        f"{number}. [{'x' if item.done else ' '}] {item.text}" for number, item in enumerate(items, 1)
    )


def position(items: tuple[Item, ...], word: str) -> int:
    """Which item a person means by a number. InvalidInput when there is none."""
    number = int(word) if word.isascii() and word.isdigit() and len(word) < 6 else 0
    if not 1 <= number <= len(items):
        there = f"from 1 to {len(items)}" if items else "yet: the list is empty"
        raise InvalidInput(f"Which one? There is no item {word!r}; the numbers go {there}.")
    return number - 1


def done(items: tuple[Item, ...], index: int) -> tuple[Item, ...]:
    return (*items[:index], Item(items[index].text, done=True), *items[index + 1 :])


def without(items: tuple[Item, ...], index: int) -> tuple[Item, ...]:
    return (*items[:index], *items[index + 1 :])


def one_line(text: str) -> str:
    return " ".join(text.split())
