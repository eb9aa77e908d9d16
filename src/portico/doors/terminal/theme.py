"""Symbols and colours of the terminal output.

Colours are the terminal's own sixteen, so that they follow the person's light or dark theme.
"""

import msgspec

from portico.domain.values import PlanEntry, ToolKind


class Signs(msgspec.Struct, frozen=True, kw_only=True):
    """Symbols, one column wide each."""

    spinner: tuple[str, ...] = ("⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏")
    done: str = "✓"
    failed: str = "✗"
    stopped: str = "■"
    info: str = "·"
    warning: str = "!"
    question: str = "?"
    thought: str = "∴"
    prompt: str = "❯"
    bar: str = "▌"
    quote: str = "│"
    rule: str = "─"
    bullet: str = "•"
    dot: str = "·"
    ellipsis: str = "…"
    minus: str = "−"
    pending: str = "○"
    current: str = "◐"
    unicode: bool = True


UNICODE = Signs()
ASCII = Signs(
    spinner=("|", "/", "-", "\\"),
    done="+",
    failed="x",
    stopped="#",
    info="-",
    thought="*",
    prompt=">",
    bar="|",
    quote="|",
    rule="-",
    bullet="*",
    dot="-",
    ellipsis="...",
    minus="-",
    pending="o",
    current=">",
    unicode=False,
)

_KIND_SIGNS: dict[ToolKind, tuple[str, str]] = {
    "read": ("→", "<"),
    "edit": ("✎", "~"),
    "delete": ("−", "-"),
    "move": ("↪", ">"),
    "search": ("⌕", "?"),
    "execute": ("$", "$"),
    "think": ("∴", "*"),
    "fetch": ("↓", "v"),
    "switch_mode": ("⇄", "="),
    "other": ("•", "*"),
}

ACCENT = "cyan"
DIM = "dim"
GOOD = "green"
BAD = "red"
CAUTION = "yellow"
STRONG = "bold"


def signs_for(encoding: str | None) -> Signs:
    """The symbols that an encoding can represent."""
    return UNICODE if (encoding or "").lower().replace("-", "").startswith("utf") else ASCII


def kind_sign(kind: ToolKind, signs: Signs) -> str:
    return _KIND_SIGNS[kind][0 if signs.unicode else 1]


def plan_sign(entry: PlanEntry, signs: Signs) -> str:
    return {"completed": signs.done, "in_progress": signs.current, "pending": signs.pending}[entry.status]
