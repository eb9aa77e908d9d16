"""Draws what a terminal showed, colours included, as an SVG that needs no font from anywhere.

    tmux capture-pane -e -p -t demo | python scripts/terminal_picture.py - docs/picture.svg --title portico

Reads text with ANSI colours, as `tmux capture-pane -e` gives it. Each run of characters is put in
its own column, and blocks that should touch are drawn as shapes, so every viewer shows the same.
"""

import argparse
import sys
from html import escape
from pathlib import Path

from rich.ansi import AnsiDecoder
from rich.cells import cell_len
from rich.color import blend_rgb
from rich.color_triplet import ColorTriplet
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import TerminalTheme

CELL_WIDTH = 8.4
CELL_HEIGHT = 18
BASELINE = 13.5
MARGIN = 18
TITLE_HEIGHT = 34
FONTS = "'JetBrains Mono','Cascadia Mono','SF Mono',Menlo,'DejaVu Sans Mono',Consolas,monospace"
# Block characters as rectangles: left, top, right and bottom in parts of a cell.
BLOCKS: dict[str, tuple[float, float, float, float]] = {
    "█": (0, 0, 1, 1),
    "▌": (0, 0, 0.5, 1),
    "▐": (0.5, 0, 1, 1),
    "▀": (0, 0, 1, 0.5),
    "▄": (0, 0.5, 1, 1),
    "▁": (0, 0.875, 1, 1),
    "▔": (0, 0, 1, 0.125),
    "▎": (0, 0, 0.25, 1),
    "▏": (0, 0, 0.125, 1),
    "▕": (0.875, 0, 1, 1),
}
THEME = TerminalTheme(
    (24, 26, 31),
    (214, 217, 224),
    [
        (54, 58, 69),
        (226, 109, 115),
        (139, 190, 120),
        (222, 184, 103),
        (106, 159, 229),
        (190, 133, 210),
        (93, 184, 190),
        (200, 204, 212),
    ],
    [
        (104, 110, 125),
        (240, 130, 135),
        (160, 210, 140),
        (240, 205, 130),
        (130, 180, 245),
        (210, 155, 230),
        (120, 205, 210),
        (240, 242, 246),
    ],
)


def picture(capture: str, *, columns: int = 0, title: str = "") -> str:
    """The SVG of a captured screen; as wide as its longest line when no width is given."""
    lines = list(AnsiDecoder().decode(capture.rstrip("\n")))
    columns = columns or max((line.cell_len for line in lines), default=1)
    console = Console(width=columns)
    shapes: list[str] = []
    for row, line in enumerate(lines):
        column = 0
        for text, style, _control in line.render(console):
            shapes += _run(text, style or Style(), column, row)
            column += cell_len(text)
    width = columns * CELL_WIDTH + 2 * MARGIN
    height = len(lines) * CELL_HEIGHT + MARGIN + TITLE_HEIGHT
    return "\n".join((*_frame(width, height, title), *shapes, "</g>", "</svg>", ""))


def _frame(width: float, height: float, title: str) -> list[str]:
    background, foreground = THEME.background_color.hex, THEME.foreground_color.hex
    size = f'width="{width:g}" height="{height:g}"'
    lights = "".join(
        f'<circle cx="{MARGIN + 4 + 18 * place}" cy="17" r="5.5" fill="{colour}"/>'
        for place, colour in enumerate(("#e26d73", "#deb867", "#8bbe78"))
    )
    label = (
        f'<text x="{width / 2:g}" y="21.5" text-anchor="middle" fill="#8b919e">{escape(title)}</text>'
        if title
        else ""
    )
    view = f'viewBox="0 0 {width:g} {height:g}" {size}'
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" {view} font-family="{FONTS}" font-size="14">',
        f'<rect {size} rx="9" fill="{background}"/>',
        lights + label,
        f'<g transform="translate({MARGIN},{TITLE_HEIGHT})" fill="{foreground}">',
    ]


def _run(text: str, style: Style, column: int, row: int) -> list[str]:
    """One run of characters in one style: its background, its shapes, its words."""
    front, back = _colours(style)
    x, y = column * CELL_WIDTH, row * CELL_HEIGHT
    drawn: list[str] = []
    if back is not None:
        drawn.append(_rectangle(x, y, cell_len(text) * CELL_WIDTH, CELL_HEIGHT, back))
    words = ""
    start = place = x
    for character in text:
        advance = cell_len(character) * CELL_WIDTH
        if character in BLOCKS or (character == " " and not style.underline):
            drawn += _words(words, start, y, front, style)
            words, start = "", place + advance
            if character in BLOCKS:
                left, top, right, bottom = BLOCKS[character]
                size = ((right - left) * CELL_WIDTH, (bottom - top) * CELL_HEIGHT)
                drawn.append(_rectangle(place + left * CELL_WIDTH, y + top * CELL_HEIGHT, *size, front))
        else:
            words += character
        place += advance
    return drawn + _words(words, start, y, front, style)


def _words(words: str, x: float, y: float, colour: str, style: Style) -> list[str]:
    if not words:
        return []
    looks = [f'fill="{colour}"']
    looks += ['font-weight="bold"'] if style.bold else []
    looks += ['font-style="italic"'] if style.italic else []
    lines = [name for name, on in (("underline", style.underline), ("line-through", style.strike)) if on]
    looks += [f'text-decoration="{" ".join(lines)}"'] if lines else []
    length = cell_len(words) * CELL_WIDTH
    place = f'x="{x:g}" y="{y + BASELINE:g}" textLength="{length:g}" lengthAdjust="spacingAndGlyphs"'
    return [f"<text {place} {' '.join(looks)}>{escape(words)}</text>"]


def _rectangle(x: float, y: float, width: float, height: float, colour: str) -> str:
    # A hair wider and taller than its cell, so that neighbours leave no seam.
    size = f'width="{width + 0.4:g}" height="{height + 0.4:g}"'
    return f'<rect x="{x:g}" y="{y:g}" {size} fill="{colour}" shape-rendering="crispEdges"/>'


def _colours(style: Style) -> tuple[str, str | None]:
    front: ColorTriplet = THEME.foreground_color
    back: ColorTriplet | None = None
    if style.color is not None and not style.color.is_default:
        front = style.color.get_truecolor(THEME)
    if style.bgcolor is not None and not style.bgcolor.is_default:
        back = style.bgcolor.get_truecolor(THEME, foreground=False)
    if style.reverse:
        front, back = back or THEME.background_color, front
    if style.dim:
        front = blend_rgb(front, back or THEME.background_color, 0.42)
    return front.hex, back.hex if back else None


def main() -> int:
    parser = argparse.ArgumentParser(description="Draw a terminal capture as an SVG.")
    parser.add_argument("capture", help="a file with ANSI text, or - for standard input")
    parser.add_argument("output", type=Path, help="the SVG to write")
    parser.add_argument("--columns", type=int, default=0, help="the width of the terminal")
    parser.add_argument("--title", default="", help="the words in the title bar")
    options = parser.parse_args()
    capture = sys.stdin.read() if options.capture == "-" else Path(options.capture).read_text("utf-8")
    options.output.write_text(picture(capture, columns=options.columns, title=options.title), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
