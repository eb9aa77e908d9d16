"""Program that searches files for a regular expression, for machines without ripgrep or git.

It runs in its own process, so that a slow pattern can be stopped, and prints like `git grep -n -z`.
"""

import re
import sys
from pathlib import Path

from portico.files import real_path
from portico.porter.search.file_tree import walk

_LARGEST = 5 * 1024 * 1024
_LOOKED_AT = 8 * 1024


def main(pattern: str, place: str) -> int:
    found = False
    wanted = re.compile(pattern)
    for path in walk(Path(place)):
        try:
            data = real_path.read(Path.cwd() / path, limit=_LARGEST)
        except OSError:
            continue
        if b"\0" in data[:_LOOKED_AT]:
            continue
        for number, line in enumerate(data.decode(errors="replace").split("\n"), 1):
            if wanted.search(line):
                found = True
                record = f"{path}\0{number}\0{line.rstrip()}\n"
                sys.stdout.buffer.write(record.encode("utf-8", "surrogateescape"))
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
