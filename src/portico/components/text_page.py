"""Pages of long texts for a model: bounded in bytes and lines, with the place where the next page begins."""

from collections.abc import Sequence

PAGE_BYTES = 24 * 1024
LONGEST_LINE = 2000


def page_of(
    lines: Sequence[str],
    first: int = 1,
    *,
    most: int | None = None,
    unit: str = "line",
    budget: int = PAGE_BYTES,
) -> str:
    """Lines from `first` on, which counts from 1, as many as fit. A last line says how to go on, if there is more."""
    if first > max(len(lines), 1):
        return f"There are only {len(lines)} {unit}s; {unit} {first} does not exist."
    shown: list[str] = []
    size = 0
    for line in lines[first - 1 :]:
        cut = line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}…"
        size += len(cut.encode()) + 1
        if shown and (size > budget or (most is not None and len(shown) >= most)):
            break
        shown.append(cut)
    last = first + len(shown) - 1
    if last >= len(lines) and first == 1:
        return "\n".join(shown)
    more = f" Continue with offset={last + 1}." if last < len(lines) else " That is the end."
    return "\n".join([*shown, "", f"({unit.capitalize()}s {first} to {last} of {len(lines)}.{more})"])
