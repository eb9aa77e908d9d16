"""Text search in a package: with ripgrep if it is installed, else with Portico's own program.

Both run in a process of their own, so that a slow pattern can be stopped, and print the same records.
"""

import asyncio
import re
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import PurePosixPath

import msgspec

from portico.components.packages.tree import LARGEST_FILE, PackageTree
from portico.domain.errors import InvalidInput
from portico.domain.secret_files import is_private
from portico.processes.executables import CannotRun, find_program
from portico.processes.process_group import ProcessGroup, spawn
from portico.rpc.framing import LineSplitter

SEARCH_SECONDS = 20.0
_LONGEST_RECORD = 16 * 1024
_READ_SIZE = 64 * 1024
_RECORD = re.compile(rb"(?:\./)?([^\0]+)\0(\d+):(.*)", re.DOTALL)
_MOST_IN_FILE = 50


class PackageTextQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A search. `path` is a file or folder of the package; `glob` a pattern for the names of files."""

    text: str
    is_regex: bool = False
    ignore_case: bool = False
    path: str = ""
    glob: str = ""


class PackageTextMatch(msgspec.Struct, frozen=True, order=True):
    path: str
    line: int
    text: str


class PackageTextMatches(msgspec.Struct):
    """`cut` if there are more matches than the limit; `late` if the time ended before the search did."""

    matches: list[PackageTextMatch] = []
    cut: bool = False
    late: bool = False


async def search_tree(
    tree: PackageTree, query: PackageTextQuery, environ: Mapping[str, str], *, limit: int
) -> PackageTextMatches:
    """Matches sorted by path. InvalidInput for a pattern that is none."""
    found = PackageTextMatches()
    group = await spawn(_command(tree, query, environ), cwd=tree.root, environ=environ)
    try:
        async with asyncio.timeout(SEARCH_SECONDS):
            async for match in _matches(group):
                if len(found.matches) >= limit:
                    found.cut = True
                    break
                found.matches.append(match)
            if not found.cut:
                await _check_end(group, query)
    except TimeoutError:
        found.late = True
    finally:
        await group.stop(0)
    found.matches.sort()
    return found


def _command(tree: PackageTree, query: PackageTextQuery, environ: Mapping[str, str]) -> tuple[str, ...]:
    place = tree.locate(query.path)
    # ripgrep follows a link that it is given as a place to search.
    places = [one for one in (tree.entries if place == "." else (place,)) if tree.has(one)]
    if not places and (place != "." or tree.entries):
        raise InvalidInput(
            f"The package has no file or folder {query.path or 'to search'}.",
            suggestion="List its files with package_list.",
        )
    places = places or ["."]
    try:
        ripgrep = find_program("rg", cwd=tree.root, environ=environ)
    except CannotRun:
        pattern = query.text if query.is_regex else re.escape(query.text)
        case = "i" if query.ignore_case else "s"
        own = (sys.executable, "-P", "-m", "portico.components.packages.grep", case, pattern, query.glob)
        return (*own, ",".join(sorted(tree.nested)), *places)
    flags = ["--no-config", "--null", "--with-filename", "--line-number", "--no-heading", "--color=never"]
    flags += ["--no-ignore", "--hidden", "--no-messages", f"--max-count={_MOST_IN_FILE}"]
    flags += ["--max-columns=1000", "--max-columns-preview", f"--max-filesize={LARGEST_FILE}"]
    flags += ["--ignore-case"] if query.ignore_case else []
    flags += [] if query.is_regex else ["--fixed-strings"]
    flags += [f"--glob={query.glob.lstrip('!')}"] if query.glob else []
    flags += [f"--glob=!{name}" for name in (*sorted(tree.nested), "__pycache__")]
    return (ripgrep, *flags, "-e", query.text, "--", *(f"./{place}" for place in places))


async def _matches(group: ProcessGroup) -> AsyncIterator[PackageTextMatch]:
    if group.stdin is not None:
        group.stdin.close()
    splitter = LineSplitter(_LONGEST_RECORD)
    while data := await group.stdout.read(_READ_SIZE):
        for line in splitter.feed(data):
            record = _RECORD.fullmatch(line if isinstance(line, bytes) else line.head)
            path = "" if record is None else record[1].decode(errors="replace").removeprefix("./")
            if record is not None and not is_private(PurePosixPath(path).parts):
                yield PackageTextMatch(path, int(record[2]), record[3].decode(errors="replace").strip())


async def _check_end(group: ProcessGroup, query: PackageTextQuery) -> None:
    errors = b"" if group.stderr is None else await group.stderr.read(4096)
    await group.wait()
    if group.exit_code not in (0, 1):
        reason = " ".join(errors.decode(errors="replace").split())[:300]
        what = "is not a regular expression" if query.is_regex else "could not be searched for"
        raise InvalidInput(f"“{query.text[:80]}” {what}: {reason}")
