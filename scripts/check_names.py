"""Fail on names that would mislead a reader of `src/portico`.

It reports a public class name that is defined twice, a module name that is not a noun, a name made of a word that
the glossary has replaced, a module longer than the limit, a package without a docstring, and a table of packages in
CONTRIBUTING.md that differs from the tree. In all texts (code, comments, documents) it reports words that plain
English does without, and docstrings that are a relative clause ("What a turn did.").
"""

import argparse
import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
MOST_LINES = 400

# Generated code keeps the names of its source.
GENERATED = ("acp/_schema.py", "api/", "doors/ahp/_schema.py")

# Classes of one name that a reader cannot confuse, each with its reason: none at present.
SAME_NAME_ALLOWED: dict[str, str] = {}

BANNED_ENDINGS = ("ing", "ings")
# Nouns that end like a verb form.
NOUNS: dict[str, str] = {
    "setting": "a noun",
    "settings": "a noun",
    "string": "a noun",
    "testing": "the public package of test doubles",
    "tracing": "the field's own word for recording messages",
    "framing": "the field's own word for splitting a byte stream into messages",
}
BANNED_WORDS = frozenset(
    [
        "desk",
        "desks",
        "deed",
        "deeds",
        "errand",
        "errands",
        "shelf",
        "mind",
        "station",
        "stand",
        "ground",
        "told",
        "words",
        "manager",
        "managers",
        "helper",
        "helpers",
        "util",
        "utils",
        "misc",
        "coordinator",
        "possession",
        "surroundings",
        "standing",
        "workplace",
        "workplaces",
    ]
)
# Words that no class, function, argument or variable may be named by, each with the word to use.
REPLACED_WORDS = {
    "deed": "action",
    "deeds": "actions",
    "errand": "client request",
    "errands": "client requests",
    "desk": "draft or window",
    "desks": "drafts or windows",
    "nobody": "unattended",
    "somebody": "person",
    "whoever": "caller",
    "workplace": "working copy",
    "workplaces": "working copies",
}
WORDS_IN_NAME = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")

# Texts say who it is: "the caller", "a person", "no client".
BANNED_PROSE = re.compile(r"\b(whoever|whomever|somebody|nobody)\b", re.IGNORECASE)
# A docstring says what a thing is ("Result of a turn."), not "What a turn did."
RELATIVE_CLAUSE = re.compile(r'^\s*(?:"""|/\*\*\s*)(What|How|Where|Who|Whose|Which|Why)\b[^?]*$')
# The value of an event's `by`, which is part of the contract.
WIRE_VALUE = re.compile(r"""["'`]nobody["'`]|\bNOBODY\b""")
PROSE = (
    ("src/portico", "*.py"),
    ("scripts", "*.py"),
    ("bench", "*.py"),
    ("examples", "*.py"),
    ("web/src", "*.[tc]s*"),
    ("vscode/src", "*.ts"),
    ("docs", "*.md"),
    (".", "*.md"),
)
DOCSTRINGS = (*PROSE, ("tests", "*.py"))
# This file names the words, and the generated reference repeats the contract.
WITHOUT_PROSE = ("scripts/check_names.py", "docs/reference/")


class _Definitions(NamedTuple):
    """The names that a module defines, with their lines, and whether it has a docstring."""

    classes: tuple[str, ...]
    names: tuple[tuple[int, str], ...]
    is_documented: bool


@cache
def definitions(text: str) -> _Definitions:
    """Cached by text, so that checking a second tree costs only what differs."""
    tree = ast.parse(text)
    classes = tuple(node.name for node in tree.body if isinstance(node, ast.ClassDef))
    named = ((getattr(node, "lineno", 1), _name_given_by(node)) for node in ast.walk(tree))
    names = tuple((line, name) for line, name in named if name)
    return _Definitions(classes, names, bool(ast.get_docstring(tree)))


def read_definitions(path: Path) -> _Definitions:
    return definitions(path.read_text(encoding="utf-8"))


def modules(package: Path) -> Iterator[Path]:
    """Every hand-written module, in the order of the tree."""
    for path in sorted(package.rglob("*.py")):
        if not path.relative_to(package).as_posix().startswith(GENERATED):
            yield path


def duplicate_classes(package: Path) -> Iterator[str]:
    homes: dict[str, list[str]] = defaultdict(list)
    for path in modules(package):
        for name in read_definitions(path).classes:
            if not name.startswith("_"):
                homes[name].append(path.relative_to(package).as_posix())
    for name, files in sorted(homes.items()):
        if len(files) > 1 and name not in SAME_NAME_ALLOWED:
            yield f"class {name} is defined in {' and '.join(files)}: give each a name of its own"


def misleading_modules(package: Path) -> Iterator[str]:
    for path in modules(package):
        names = [path.stem if path.stem != "__init__" else path.parent.name]
        for name in names:
            last = name.rpartition("_")[2]
            if last.endswith(BANNED_ENDINGS) and last not in NOUNS:
                yield f"{path.relative_to(package)}: name modules by a noun, not by an activity"
            if banned := BANNED_WORDS.intersection(name.split("_")):
                yield f"{path.relative_to(package)}: {min(banned)!r} is not a word of docs/glossary.md"


def replaced_words(package: Path) -> Iterator[str]:
    for path in modules(package):
        for line, name in read_definitions(path).names:
            for word in WORDS_IN_NAME.findall(name):
                if word.lower() in REPLACED_WORDS:
                    hint = REPLACED_WORDS[word.lower()]
                    yield f"{path.relative_to(package)}:{line}: {word!r} in a name: say {hint}"


def _name_given_by(node: ast.AST) -> str:
    """The name that a node of the syntax tree defines, or an empty text."""
    match node:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return name
        case (
            ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store())
        ):
            return name
        case _:
            return ""


def banned_prose(root: Path) -> Iterator[str]:
    for shown, text in texts(root, PROSE):
        if not BANNED_PROSE.search(text):
            continue
        for number, line in enumerate(text.splitlines(), start=1):
            if word := BANNED_PROSE.search(WIRE_VALUE.sub("", line)):
                yield f"{shown}:{number}: {word[0]!r}: say who it is"


def relative_clauses(root: Path) -> Iterator[str]:
    for shown, text in texts(root, DOCSTRINGS):
        for number, line in enumerate(text.splitlines(), start=1):
            if clause := RELATIVE_CLAUSE.match(line):
                yield f'{shown}:{number}: begins with {clause[1]!r}: say what it is, as in "Result of a turn."'


def texts(root: Path, places: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Name and text of every hand-written file in these places."""
    for folder, pattern in places:
        found = (root / folder).glob(pattern) if folder == "." else (root / folder).rglob(pattern)
        for path in sorted(found):
            shown = path.relative_to(root).as_posix()
            if shown.startswith(WITHOUT_PROSE) or "/generated/" in shown or "node_modules" in shown:
                continue
            if not shown.removeprefix("src/portico/").startswith(GENERATED):
                yield shown, path.read_text(encoding="utf-8")


def long_modules(package: Path) -> Iterator[str]:
    for path in modules(package):
        length = len(path.read_text(encoding="utf-8").splitlines())
        if length > MOST_LINES:
            yield f"{path.relative_to(package)}: {length} lines, more than {MOST_LINES}: split it"


def undocumented_packages(package: Path) -> Iterator[str]:
    for path in modules(package):
        if path.name == "__init__.py" and not read_definitions(path).is_documented:
            yield f"{path.relative_to(package)}: say in a docstring what the package owns"


def false_package_table(root: Path) -> Iterator[str]:
    """The table of packages in CONTRIBUTING.md names every package once, and no other."""
    text = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `src/portico/(\w+)`", text, re.MULTILINE)
    package = root / "src" / "portico"
    there = {path.parent.name for path in package.glob("*/__init__.py")}
    for name in sorted(there - set(listed)):
        yield f"CONTRIBUTING.md: the package {name} is not in the table"
    for name in sorted(set(listed) - there):
        yield f"CONTRIBUTING.md: there is no package {name}"
    layers = re.search(r"```\n(cli\n.*?)```", text, re.DOTALL)
    drawn = set(re.findall(r"\w+", layers[1])) if layers else set()
    for name in sorted(there - drawn - {"testing"}):
        yield f"CONTRIBUTING.md: the package {name} is not in the diagram of layers"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT)
    root = parser.parse_args(arguments).root
    package = root / "src" / "portico"
    checks = (duplicate_classes, misleading_modules, replaced_words, long_modules, undocumented_packages)
    found = [problem for check in checks for problem in check(package)]
    found += [*false_package_table(root), *banned_prose(root), *relative_clauses(root)]
    print("\n".join(found) if found else "Names are unique nouns, and the list of packages is true.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
