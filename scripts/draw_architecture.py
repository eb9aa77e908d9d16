"""Draw docs/pictures/architecture.svg and write docs/architecture.md, from the code itself.

    make architecture                                  both, from a fresh trace
    python -m scripts.draw_architecture --check        fail if the layers or the packages drawn are not those of today

The layers come from the import-linter contract in pyproject.toml, what each package owns from its docstring, and
the arrows from a trace of one real turn (scripts/trace_turn.py).
"""

import argparse
import ast
import re
import sys
import tomllib
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from scripts.trace_turn import Walk, trace_exec, trace_host

ROOT = Path(__file__).resolve().parent.parent
PICTURE = Path("docs/pictures/architecture.svg")
PAGE = Path("docs/architecture.md")

BOX_WIDTH, BOX_HEIGHT, GAP, ROW = 112, 46, 14, 104
MARGIN = 28


class Step(NamedTuple):
    """The first time that the turn goes from one package to another."""

    number: int
    source: str
    target: str
    module: str


def read_layers(root: Path) -> list[list[str]]:
    """The packages, from the top layer to the bottom one."""
    linter = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    contract = next(one for one in linter["contracts"] if one["id"] == "layers")
    return [re.findall(r"\w+", line) for line in contract["layers"]]


def read_purpose(root: Path, package: str) -> str:
    """The first sentence of a package's docstring: what it owns."""
    source = (root / "src" / "portico" / package / "__init__.py").read_text(encoding="utf-8")
    text = " ".join((ast.get_docstring(ast.parse(source)) or "").partition("\n\n")[0].split())
    text = text.removeprefix("Owns ")
    return text[:1].upper() + text[1:]


def steps_of(walk: Walk) -> list[Step]:
    """Each pair of packages once, in the order in which the turn first goes from one to the other."""
    found: dict[tuple[str, str], str] = {}
    for arrival in walk.arrivals:
        source = (arrival.caller or "").partition("/")[0]
        if source and source != arrival.package:
            found.setdefault((source, arrival.package), arrival.module)
    return [Step(number, *pair, module) for number, (pair, module) in enumerate(found.items(), start=1)]


def draw(layers: Sequence[Sequence[str]], steps: Sequence[Step]) -> str:
    """The packages in their layers, and the way of the turn as numbered arrows."""
    width = max(len(layer) for layer in layers) * (BOX_WIDTH + GAP) - GAP + 2 * MARGIN
    height = len(layers) * ROW + MARGIN
    places = {
        name: (
            (width - len(layer) * (BOX_WIDTH + GAP) + GAP) / 2 + at * (BOX_WIDTH + GAP) + BOX_WIDTH / 2,
            MARGIN + row * ROW + BOX_HEIGHT / 2,
        )
        for row, layer in enumerate(layers)
        for at, name in enumerate(layer)
    }
    visited = {name for step in steps for name in (step.source, step.target)}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="system-ui, sans-serif">',
        "<title>The packages of Portico, and the way of one prompt</title>",
        (
            '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            '<path d="M0 0 8 4 0 8z" fill="#2f6fde"/></marker></defs>'
        ),
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    arrows, labels = zip(*(_arrow(step, places) for step in steps), strict=True) if steps else ((), ())
    parts += arrows
    parts += [_box(name, place, on_the_way=name in visited) for name, place in places.items()]
    parts += labels
    return "\n".join([*parts, "</svg>", ""])


def _box(name: str, place: tuple[float, float], *, on_the_way: bool) -> str:
    x, y = place[0] - BOX_WIDTH / 2, place[1] - BOX_HEIGHT / 2
    fill, line = ("#e8f0fe", "#2f6fde") if on_the_way else ("#f4f4f5", "#a1a1aa")
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="8" fill="{fill}" stroke="{line}"/>'
        f'<text x="{place[0]:g}" y="{place[1] + 5:g}" text-anchor="middle" font-size="15" fill="#18181b">{escape(name)}</text>'
    )


def _arrow(step: Step, places: dict[str, tuple[float, float]]) -> tuple[str, str]:
    (x1, y1), (x2, y2) = places[step.source], places[step.target]
    # Arrows of one direction leave and arrive beside the middle, so that those back do not lie on them.
    side = 14 if y2 >= y1 else -14
    start, end = (
        (y1, y2)
        if y1 == y2
        else (
            (y1 + BOX_HEIGHT / 2, y2 - BOX_HEIGHT / 2)
            if y2 > y1
            else (y1 - BOX_HEIGHT / 2, y2 + BOX_HEIGHT / 2)
        )
    )
    bend = (end - start) / 2 if y1 != y2 else -60
    path = f"M{x1 + side:g} {start:g}C{x1 + side:g} {start + bend:g} {x2 + side:g} {end - bend:g} {x2 + side:g} {end:g}"
    at = 0.5 + 0.08 * (step.number % 5 - 2)
    x, y = _on_curve(
        at, (x1 + side, start), (x1 + side, start + bend), (x2 + side, end - bend), (x2 + side, end)
    )
    label = (
        f'<circle cx="{x:g}" cy="{y:g}" r="9" fill="#2f6fde"/>'
        f'<text x="{x:g}" y="{y + 3.5:g}" text-anchor="middle" font-size="10" fill="#ffffff">{step.number}</text>'
    )
    return f'<path d="{path}" fill="none" stroke="#2f6fde" opacity="0.6" marker-end="url(#head)"/>', label


def _on_curve(at: float, *points: tuple[float, float]) -> tuple[float, float]:
    weights = ((1 - at) ** 3, 3 * at * (1 - at) ** 2, 3 * at**2 * (1 - at), at**3)
    return (
        round(sum(weight * point[0] for weight, point in zip(weights, points, strict=True)), 1),
        round(sum(weight * point[1] for weight, point in zip(weights, points, strict=True)), 1),
    )


def write_page(root: Path, layers: Sequence[Sequence[str]], walks: Sequence[Walk]) -> str:
    lines = [
        "# Architecture",
        "",
        "<!-- Written by `make architecture` from the code and from a trace of a real turn. Do not edit. -->",
        "",
        (
            "Packages stand in layers. Imports point down, and packages of one layer do not import each other; "
            "import-linter holds this in `make check`. The arrows are the way of one prompt through the server: a new "
            "session in proposal mode, in which Porter writes one file. They are numbered in the order in which the turn "
            "first takes them."
        ),
        "",
        f"![Packages in layers, and the way of one prompt]({PICTURE.relative_to('docs').as_posix()})",
        "",
        "| package | owns |",
        "|---|---|",
    ]
    lines += [f"| `{name}` | {read_purpose(root, name)} |" for layer in layers for name in layer]
    lines += ["", "## The way of a prompt", ""]
    lines += ["| | from | to | first module there |", "|---|---|---|---|"]
    lines += [
        f"| {one.number} | `{one.source}` | `{one.target}` | {one.module} |" for one in steps_of(walks[0])
    ]
    lines += [
        "",
        "## Length of the way",
        "",
        "`python scripts/trace_turn.py` prints every module of both ways.",
        "",
    ]
    lines += [
        "| | modules | packages | visits and re-entries, as it reads | as it ran |",
        "|---|---|---|---|---|",
    ]
    for walk in walks:
        cells = [str(len(walk.arrivals)), str(len(walk.packages))]
        cells += [f"{one.visits}, {one.re_entries}" for one in (walk.as_it_reads, walk.as_it_ran)]
        lines.append(f"| {walk.name} | {' | '.join(cells)} |")
    lines += [
        "",
        (
            "A visit is a stay in one package; a re-entry is a visit to a package that the turn had left. As it reads, "
            "each module stands below the one that led to it; as it ran, tasks and threads alternate. The library "
            "packages at the bottom, which everything uses, are not counted."
        ),
    ]
    return "\n".join([*lines, ""])


def stale(root: Path, layers: Sequence[Sequence[str]]) -> list[str]:
    """Packages that are drawn and gone, or there and not drawn."""
    page, picture = (root / PAGE).read_text(encoding="utf-8"), (root / PICTURE).read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+)` \| (.*) \|$", page, re.MULTILINE)
    wanted = [(name, read_purpose(root, name)) for layer in layers for name in layer]
    found = [f"{PAGE}: {name} is out of date" for name, _ in set(wanted).symmetric_difference(listed)]
    drawn = set(re.findall(r'font-size="15"[^>]*>(\w+)<', picture))
    found += [
        f"{PICTURE}: {name} is out of date" for name in drawn.symmetric_difference(name for name, _ in wanted)
    ]
    modules = re.findall(r"\| `\w+` \| `\w+` \| ([\w/]+) \|$", page, re.MULTILINE)
    found += [
        f"{PAGE}: there is no {name}" for name in modules if not (root / f"src/portico/{name}.py").exists()
    ]
    return sorted(set(found))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--check", action="store_true", help="change nothing; fail if the page is out of date"
    )
    parser.add_argument("--root", type=Path, default=ROOT)
    options = parser.parse_args()
    layers = read_layers(options.root)
    if options.check:
        found = stale(options.root, layers)
        print(
            "\n".join([*found, "Run: make architecture"]) if found else "The architecture page is up to date."
        )
        return 1 if found else 0
    walks = [trace_host(sys.executable), trace_exec(sys.executable)]
    (options.root / PICTURE).write_text(draw(layers, steps_of(walks[0])), encoding="utf-8")
    (options.root / PAGE).write_text(write_page(options.root, layers, walks), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
