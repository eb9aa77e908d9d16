"""Fail on names that would mislead a reader of `src/portico`.

It reports a public class name that is defined twice, a module name that is not a noun, a module longer than
the limit, a package without a docstring, and a table of packages in CONTRIBUTING.md that differs from the tree.
"""

import argparse
import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MOST_LINES = 400

# Generated code keeps the names of its source.
GENERATED = ("acp/_schema.py", "api/")

# Classes of one name that a reader cannot confuse, each with its reason.
SAME_NAME_ALLOWED: dict[str, str] = {
    "Session": "the handle in sessions, and the same thing seen from outside in the public portico.client",
}

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


def modules(package: Path) -> Iterator[Path]:
    """Every hand-written module, in the order of the tree."""
    for path in sorted(package.rglob("*.py")):
        if not path.relative_to(package).as_posix().startswith(GENERATED):
            yield path


def duplicate_classes(package: Path) -> Iterator[str]:
    homes: dict[str, list[str]] = defaultdict(list)
    for path in modules(package):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(path.relative_to(package).as_posix())
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


def long_modules(package: Path) -> Iterator[str]:
    for path in modules(package):
        length = len(path.read_text(encoding="utf-8").splitlines())
        if length > MOST_LINES:
            yield f"{path.relative_to(package)}: {length} lines, more than {MOST_LINES}: split it"


def undocumented_packages(package: Path) -> Iterator[str]:
    for path in modules(package):
        if path.name == "__init__.py" and not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))):
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT)
    root = parser.parse_args().root
    package = root / "src" / "portico"
    checks = (duplicate_classes, misleading_modules, long_modules, undocumented_packages)
    found = [problem for check in checks for problem in check(package)] + list(false_package_table(root))
    print("\n".join(found) if found else "Names are unique nouns, and the list of packages is true.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
