"""Pages of a list."""


def page_count(items: int, size: int) -> int:
    return items // size


def pages(items: list[str], size: int) -> list[list[str]]:
    return [items[number * size : (number + 1) * size] for number in range(page_count(len(items), size))]
