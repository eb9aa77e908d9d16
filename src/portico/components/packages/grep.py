"""Program that searches the files of a package for a regular expression, for machines without ripgrep.

It prints like `rg --null --line-number`, and exits with 2 for a pattern that is none.
"""

import fnmatch
import re
import sys
from pathlib import Path

from portico.components.packages.tree import LARGEST_FILE, PackageTree
from portico.files import real_path

_TEXT_PROBE = 8 * 1024
_LONGEST_LINE = 1000


def main(case: str, text: str, glob: str, nested: str, *places: str) -> int:
    try:
        pattern = re.compile(text, re.MULTILINE | (re.IGNORECASE if case == "i" else 0))
    except re.error as error:
        sys.stderr.write(f"{error}\n")
        return 2
    root = Path.cwd()
    entries = () if "." in places else places
    tree = PackageTree(root=root, entries=entries, nested=frozenset(filter(None, nested.split(","))))
    found = False
    for file in tree.files():
        if glob and not _fits(file.path, glob):
            continue
        try:
            data = real_path.read(root / file.path, limit=LARGEST_FILE)
        except OSError:
            continue
        if b"\0" not in data[:_TEXT_PROBE]:
            found = _print_matches(pattern, file.path, data.decode(errors="replace")) or found
    return 0 if found else 1


def _fits(path: str, glob: str) -> bool:
    return fnmatch.fnmatch(path if "/" in glob else path.rpartition("/")[2], glob)


def _print_matches(pattern: re.Pattern[str], path: str, text: str) -> bool:
    last = 0
    line, counted = 1, 0
    for match in pattern.finditer(text):
        line += text.count("\n", counted, match.start())
        counted = match.start()
        if line == last:
            continue
        last = line
        start = text.rfind("\n", 0, match.start()) + 1
        end = text.find("\n", match.start())
        words = text[start : end if end >= 0 else len(text)][:_LONGEST_LINE]
        sys.stdout.buffer.write(f"{path}\0{line}:{words}\n".encode("utf-8", "surrogateescape"))
    return last > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
