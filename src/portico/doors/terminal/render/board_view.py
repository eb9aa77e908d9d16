"""Board of sessions as lines of text: groups, a row for each session, and the keys that work on the chosen one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from portico.domain.turns import TurnState
from portico.doors.terminal import labels
from portico.doors.terminal.permission_keys import keyed_options
from portico.doors.terminal.sanitizer import clean_line
from portico.doors.terminal.theme import ACCENT, BAD, CAUTION, DIM, GOOD, STRONG, Signs
from portico.sessions.board import BoardCard, BoardGroup

if TYPE_CHECKING:
    from rich.text import Text

GROUPS: tuple[tuple[BoardGroup, str, str], ...] = (
    ("asking", "Waiting for you", CAUTION),
    ("working", "Working", ACCENT),
    ("to_review", "To review", "magenta"),
    ("done", "Done", DIM),
)
_TITLE_COLUMNS = 34
_MOST_DONE = 12


def ordered_cards(cards: Sequence[BoardCard]) -> list[BoardCard]:
    """The cards as they stand on the board: by group, the latest first; only the latest that are done."""
    found: list[BoardCard] = []
    for group, _, _ in GROUPS:
        own = sorted(
            (card for card in cards if card.group == group),
            key=lambda card: (card.entry.pinned, card.entry.summary.updated_at),
            reverse=True,
        )
        found += own[:_MOST_DONE] if group == "done" else own
    return found


class BoardFrame(msgspec.Struct, frozen=True, kw_only=True):
    """The screen that a board is drawn on. `home` is for shorter paths."""

    now_ms: int
    width: int
    height: int
    signs: Signs
    home: str = ""


def board_lines(
    cards: Sequence[BoardCard], chosen: int, frame: BoardFrame, *, takes_answers: bool, message: str = ""
) -> list["Text"]:
    """The board on a screen. `cards` are ordered; `chosen` is the index of the one that keys act on.

    Without `takes_answers`, the keys that answer its request are not shown.
    """
    from rich.text import Text

    lines: list[Text] = []
    at = 0
    if not cards:
        lines.append(Text("No sessions yet. Start one with: portico chat", DIM))
    last = ""
    for place, card in enumerate(cards):
        if card.group != last:
            last = card.group
            name, style = next((name, style) for group, name, style in GROUPS if group == last)
            count = sum(1 for one in cards if one.group == last)
            lines += [
                *([Text()] if lines else []),
                Text.assemble((name, f"bold {style}"), (f"  {count}", DIM)),
            ]
        if is_chosen := place == chosen:
            at = len(lines)
        lines += _card_lines(card, frame, is_chosen=is_chosen)
    if cards and takes_answers:
        lines[at + 2 : at + 2] = _requests(cards[chosen])
    footer = _footer(cards[chosen] if cards else None, message)
    room = max(1, frame.height - len(footer) - 1)
    start = max(0, min(at - room // 2, len(lines) - room))
    shown = [*lines[start : start + room], Text(), *footer]
    for line in shown:
        line.truncate(frame.width - 1, overflow="ellipsis")
    return shown


def _card_lines(card: BoardCard, frame: BoardFrame, *, is_chosen: bool) -> list["Text"]:
    from rich.text import Text

    summary, signs = card.entry.summary, frame.signs
    title = Text(clean_line(summary.title) or "untitled", STRONG if is_chosen else "")
    title.truncate(min(_TITLE_COLUMNS, frame.width // 2), overflow="ellipsis", pad=True)
    facts = [
        clean_line(summary.agent),
        labels.age(summary.updated_at, frame.now_ms),
        *card_facts(card, signs),
    ]
    mark = (f"{signs.prompt} ", ACCENT) if is_chosen else ("  ", "")
    first = Text.assemble(mark, title, "  ", (f" {signs.dot} ".join(facts), DIM))
    if not is_chosen and card.group == "done":
        return [first]
    second = Text.assemble("    ", (clean_line(card.last_line), CAUTION if card.group == "asking" else DIM))
    if not is_chosen:
        return [first, second]
    place = Text(f"    {labels.short_path(summary.workspace, home=frame.home)}  {summary.session_id}", DIM)
    return [first, second, place]


def card_facts(card: BoardCard, signs: Signs) -> list[str]:
    """State unless the group says it, size of the changes, and cost or tokens."""
    state = card.entry.summary.state
    ended = (TurnState.FAILED, TurnState.INTERRUPTED, TurnState.CANCELED)
    facts = [state.label] if state in ended else []
    if card.changes.files:
        size = f"+{card.changes.added} {signs.minus}{card.changes.removed}"
        facts.append(f"{labels.pluralize(card.changes.files, 'file')} {size}")
    if card.cost is not None:
        facts.append(labels.money(card.cost, card.currency))
    elif card.tokens:
        facts.append(f"{labels.number(card.tokens)} tokens")
    return facts


def _requests(card: BoardCard) -> list["Text"]:
    """The answers to the first permission request, with their keys."""
    from rich.text import Text

    if not card.permissions:
        return []
    if not takes_keys(card):
        return [
            Text(
                "    Touches files outside the workspace or the network. Press Enter to open it and decide.",
                BAD,
            )
        ]
    return [
        Text.assemble(
            (f"    {keyed.letter or keyed.number}  ", f"bold {GOOD if keyed.allows else BAD}"), keyed.name
        )
        for keyed in keyed_options(card.permissions[0])
    ]


def takes_keys(card: BoardCard) -> bool:
    """Whether a key on the board may answer: what deserves a second look is looked at in its session."""
    return bool(card.permissions) and not card.permissions[0].risks


def _footer(card: BoardCard | None, message: str) -> list["Text"]:
    from rich.text import Text

    keys = [("↑↓", "choose"), ("Enter", "open")]
    if card is not None and card.changes.files:
        keys.append(("v", "view changes"))
    keys.append(("q", "quit"))
    line = Text()
    for key, what in keys:
        line.append(f"{key} ", ACCENT).append(f"{what}   ", DIM)
    return [Text(message, CAUTION), line] if message else [line]
