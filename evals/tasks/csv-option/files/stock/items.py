"""What is in stock."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Item:
    name: str
    count: int
    place: str


ITEMS = (
    Item("bolt, 8 mm", 120, "A1"),
    Item('pipe 2"', 4, "B3"),
    Item("washer", 0, "A2"),
)


def at_most(items, count):
    return [item for item in items if item.count <= count]
