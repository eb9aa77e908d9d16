"""Fails when the documentation names a file, a folder, a heading or a command that does not exist.

It reads README.md, CONTRIBUTING.md and docs/**/*.md. It checks four things and guesses at nothing else:
relative links, code spans that are paths from the repository or from the package, code spans that name a test,
and `portico <command>` in code.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?[^)]*\)|^\s*\[[^\]]+\]:\s*<?(\S+?)>?\s*$")
SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")
HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*\s*$")
ADDRESS = re.compile(r"^[a-z][a-z0-9+.-]*:", re.IGNORECASE)
PATH = re.compile(r"^(?:\./)?\.?[\w-][\w.-]*(?:/[\w.-]+)*/?$")
TEST = re.compile(r"^(tests/[\w/.-]+\.py)::(\w+)$")
COMMAND = re.compile(r"(?<![\w.-])(?<!from )portico ([a-z][a-z-]*)\b(?![/=.])")

# Methods of ACP that look like paths into our packages.
METHODS = ("mcp/connect", "mcp/message", "mcp/disconnect", "proxy/initialize", "proxy/successor")

# Paths that exist only where Portico runs.
BUILT = (".git", ".venv", "node_modules", ".portico")


def documents(root: Path) -> list[Path]:
    """The pages people read, in the order they are likely to meet them."""
    front = [root / name for name in ("README.md", "CONTRIBUTING.md")]
    return [page for page in front if page.exists()] + sorted((root / "docs").rglob("*.md"))


def anchors(page: Path) -> set[str]:
    """The fragments a page offers, spelled the way repository hosts spell them."""
    found: set[str] = set()
    for _, line, in_fence in lines(page):
        heading = None if in_fence else HEADING.match(line)
        if heading:
            slug = re.sub(r"[^\w\- ]", "", heading[1].lower()).replace(" ", "-")
            repeats = sum(1 for known in found if re.fullmatch(re.escape(slug) + r"(-\d+)?", known))
            found.add(f"{slug}-{repeats}" if repeats else slug)
    return found


def lines(page: Path) -> Iterator[tuple[int, str, bool]]:
    """Each line with its number and whether it stands inside a fenced block."""
    fence = ""
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        mark = FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence):
            fence = ""
        else:
            yield number, line, bool(fence)


def broken_link(page: Path, target: str) -> str | None:
    """Problem of a link, if it is relative and leads nowhere."""
    if ADDRESS.match(target):
        return None
    name, _, fragment = target.partition("#")
    destination = page.parent / name if name else page
    if not destination.exists():
        return f"link to {target}: no such file"
    if fragment and destination.suffix == ".md" and fragment not in anchors(destination):
        return f"link to {target}: no such heading"
    return None


def missing_path(root: Path, span: str) -> str | None:
    """Problem of a code span, if it is a path into one of our folders and does not exist."""
    if "/" not in span or span in METHODS or not PATH.match(span):
        return None
    parts = Path(span).parts
    homes = [home for home in (root, root / "src" / "portico") if (home / parts[0]).is_dir()]
    if not homes or any(part in BUILT for part in parts):
        return None
    return None if any((home / span).exists() for home in homes) else f"path {span}: no such file"


def missing_test(root: Path, span: str) -> str | None:
    """Problem of a code span, if it names a test that does not exist."""
    named = TEST.match(span)
    if named is None:
        return None
    page = root / named[1]
    there = page.exists() and f"def {named[2]}(" in page.read_text(encoding="utf-8")
    return None if there else f"test {span}: no such test"


def unknown_commands(root: Path, code: str) -> Iterator[str]:
    """Problem of each `portico <command>` that does not exist."""
    for command in COMMAND.findall(code):
        if not (root / "src" / "portico" / "cli" / f"{command.replace('-', '_')}.py").exists():
            yield f"command portico {command}: no src/portico/cli/{command.replace('-', '_')}.py"


def problems(root: Path, page: Path) -> Iterator[str]:
    """Everything wrong with one page, as `file:line: what`."""
    for number, line, in_fence in lines(page):
        found: list[str | None] = []
        if in_fence:
            found += unknown_commands(root, line)
        else:
            for span in SPAN.findall(line):
                found += [missing_path(root, span), missing_test(root, span)]
                found += unknown_commands(root, span)
            links = LINK.findall(SPAN.sub("", line))
            found += [broken_link(page, inline or reference) for inline, reference in links]
        yield from (f"{page.relative_to(root)}:{number}: {what}" for what in found if what)


def main() -> int:
    """Print every problem and say by the exit code whether there was one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT)
    root = parser.parse_args().root
    found = [problem for page in documents(root) for problem in problems(root, page)]
    print("\n".join(found) if found else "The documentation names nothing that is missing.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
