"""List the texts that people can see: page, extension, command line, errors, notices and settings.

    python -m scripts.list_strings                  all of them, sorted by place
    python -m scripts.list_strings page cli         those of some places
    python -m scripts.list_strings --plain errors   the texts alone, each once

The list is made from the sources: string literals of Python and TypeScript that read like words, the text of elements,
and the contributions in the extension's package.json. It contains a few texts that only programs see.
"""

import argparse
import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path("src/portico")

# Generated code and texts for models, not for people.
LEFT_OUT = ("acp/_schema.py", "api/v1/", "doors/http/page/", "porter/evaluation/")
PLACES = ("page", "extension", "package.json", "cli", "errors", "notices", "other")

PROGRAM_TEXT = re.compile(
    r"^(SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|PRAGMA|WITH|BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|FROM|WHERE|AND"
    r"|ORDER|GROUP|JOIN|LEFT|LISTEN|NOTIFY|SET|LIMIT|UNION)\b|\(\?|\\[bdsSw]|^\s*[|^]"
)
WORDS = re.compile(r"[A-Za-z]{2,}[,.:;…]?\s+(\S*\{[^}]*\}|\S*[A-Za-z])|\}\s+[a-z]{2,}")


class Text(NamedTuple):
    """One text and where it is written."""

    place: str
    file: str
    line: int
    text: str


def list_texts(root: Path) -> list[Text]:
    """All texts, by place, file and line."""
    found = [
        *_list_python(root),
        *_list_typescript(root),
        *_list_contributions(root / "vscode" / "package.json"),
    ]
    return sorted(found, key=lambda text: (PLACES.index(text.place), text.file, text.line, text.text))


def _list_python(root: Path) -> Iterator[Text]:
    for path in sorted((root / PACKAGE).rglob("*.py")):
        name = path.relative_to(root / PACKAGE).as_posix()
        if not name.startswith(LEFT_OUT):
            for line, text, caller in read_literals(path.read_text(encoding="utf-8")):
                yield Text(_place(name, caller), f"{PACKAGE}/{name}", line, text)


def _place(name: str, caller: str) -> str:
    """Place where people meet a text, by its file and by the function that gets it."""
    if name.startswith("cli/") or "doors/terminal/" in name:
        return "cli"
    if caller.endswith(("Error", "Failure", "Refusal", "Rejected", "fail", "failure")):
        return "errors"
    return "notices" if "notice" in caller.lower() else "other"


def read_literals(source: str) -> Iterator[tuple[int, str, str]]:
    """Line, text and caller of each literal in a module that reads like words; docstrings aside."""
    for line, text, caller in _literals(ast.parse(source), ""):
        if WORDS.search(text) and not PROGRAM_TEXT.search(text):
            yield line, text, caller


def _literals(node: ast.AST, caller: str) -> Iterator[tuple[int, str, str]]:
    match node:
        case ast.Expr(value=ast.Constant()):
            return
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            caller = name
        case ast.Constant(value=str(text), lineno=line):
            yield line, text, caller
        case ast.JoinedStr(values=parts, lineno=line):
            yield line, "".join(map(_shown, parts)), caller
            return
        case _:
            pass
    for below in ast.iter_child_nodes(node):
        yield from _literals(below, caller)


def _shown(part: ast.expr) -> str:
    """A part of a formatted text; a value in it as the expression that it comes from."""
    if isinstance(part, ast.Constant):
        return str(part.value)
    return f"{{{ast.unparse(part.value)}}}" if isinstance(part, ast.FormattedValue) else ""


def _list_typescript(root: Path) -> Iterator[Text]:
    command = ["node", "scripts/list-strings.mjs", str(root / "web" / "src"), str(root / "vscode" / "src")]
    listed = subprocess.run(command, cwd=root / "web", check=True, capture_output=True, text=True).stdout
    for line in listed.splitlines():
        entry = json.loads(line)
        file = Path(entry["file"]).relative_to(root).as_posix()
        yield Text("page" if file.startswith("web/") else "extension", file, entry["line"], entry["text"])


def _list_contributions(manifest: Path) -> Iterator[Text]:
    """Titles, labels and descriptions of the extension, in the order of the file."""
    shown = {"title", "label", "name", "displayName", "contents", "placeholder", "shortTitle", "fullName"}

    def walk(value: object, key: str) -> Iterator[str]:
        if isinstance(value, dict):
            for name, below in value.items():
                yield from walk(below, name)
        elif isinstance(value, list):
            for below in value:
                yield from walk(below, key)
        elif isinstance(value, str) and (key in shown or key.lower().endswith("description")):
            yield value

    contributions = json.loads(manifest.read_text(encoding="utf-8"))
    described = [contributions[key] for key in ("displayName", "description")]
    for number, text in enumerate([*described, *walk(contributions["contributes"], "")], start=1):
        yield Text("package.json", "vscode/package.json", number, text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the list."""
    parser = argparse.ArgumentParser(description="List the texts that people can see.")
    parser.add_argument(
        "places", nargs="*", metavar="PLACE", help=f"one of {', '.join(PLACES)}; all by default"
    )
    parser.add_argument("--plain", action="store_true", help="texts without file and line, each once")
    options = parser.parse_args(arguments)
    unknown = set(options.places) - set(PLACES)
    if unknown:
        parser.error(f"Unknown place {sorted(unknown)[0]!r}. Available: {', '.join(PLACES)}")
    texts = [text for text in list_texts(ROOT) if not options.places or text.place in options.places]
    if options.plain:
        print(*dict.fromkeys(text.text for text in texts), sep="\n")
        return 0
    file = ""
    for text in texts:
        if text.file != file:
            file = text.file
            print(f"\n{text.place}: {file}")
        print(f"{text.line:>5}  " + text.text.replace("\n", "⏎"))
    print(f"\n{len(texts)} texts", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
