"""Questions about the history of a folder, answered as text for a model."""

import re
from collections import Counter

from portico.components.history.arguments import (
    BlameQuery,
    DiffQuery,
    ExpertQuery,
    LogQuery,
    PickaxeQuery,
    ShowQuery,
)
from portico.components.history.repository_view import (
    COMMIT_FORMAT,
    Commit,
    RepositoryView,
    is_secret,
    read_commits,
)
from portico.components.text_page import page_of
from portico.git.working_tree import NO_PROGRAMS
from portico.mcp.tools import ToolFailure

MOST_COUNTED = 5000
MOST_PEOPLE = 15
MOST_FILES = 20
MOST_UNTRACKED = 100
_BLAMED = re.compile(r"([0-9a-f]{40,64}) \d+ (\d+)(?: \d+)?")


async def log(view: RepositoryView, query: LogQuery) -> str:
    words = [f"--author={query.author}"] if query.author else []
    words += ["--fixed-strings", f"--grep={query.message}"] if query.message else []
    listing = ("log", COMMIT_FORMAT, f"--skip={query.offset - 1}", f"--max-count={query.count + 1}", *words)
    revision, place = await view.commits(query.revision), view.place(query.path)
    renamed = ("--follow",) if await view.is_file(place) else ()
    found = read_commits(await view.ask(*listing, *renamed, revision, "--", view.spec(place)))
    lines = [str(commit) for commit, _ in found[: query.count]]
    return _commits(lines, query.offset, more=len(found) > query.count)


async def blame(view: RepositoryView, query: BlameQuery) -> str:
    place, revision = view.place(query.path), await view.commit(query.revision)
    lines = f"-L{query.first_line},+{query.count}"
    # Blame of a commit, not of the file as it is now: that would run the filter of the file.
    output = await view.ask("blame", "--porcelain", "--no-textconv", lines, revision, "--", place)
    commits: dict[str, dict[str, str]] = {}
    shown: list[str] = []
    facts, number = dict[str, str](), ""
    for line in output.decode(errors="replace").split("\n"):
        if (head := _BLAMED.fullmatch(line)) is not None:
            facts, number = commits.setdefault(head[1], {"id": head[1][:10]}), head[2]
        elif line.startswith("\t"):
            date = _date(facts.get("author-time", "0"))
            shown.append(f"{facts['id']} {date} {facts.get('author', '')[:20]:<20} {number:>5}: {line[1:]}")
        else:
            key, _, value = line.partition(" ")
            facts[key] = value
    return page_of(shown) if shown else "The file has no lines there."


async def show(view: RepositoryView, query: ShowQuery) -> str:
    commit, place = await view.commit(query.revision), view.place(query.path)
    if query.content:
        if not query.path:
            raise ToolFailure("Give the path of the file to show.")
        data = await view.ask("cat-file", "blob", f"{commit}:{place}")
        if b"\0" in data[:8192]:
            return f"{query.path} is a binary file of {len(data):,} bytes."
        return page_of(data.decode(errors="replace").rstrip("\n").split("\n"), query.offset)
    about = await view.ask(
        "log", "--max-count=1", "--format=commit %H%nAuthor: %aN <%aE>%nDate: %aI%n%n%B", commit
    )
    patch = await view.patch("diff-tree", "-r", await view.base_of(commit), commit, place=place)
    lines = [*about.decode(errors="replace").rstrip("\n").split("\n"), "", *patch]
    return page_of(lines, query.offset)


async def diff(view: RepositoryView, query: DiffQuery) -> str:
    base, place = await view.commit(query.base), view.place(query.path)
    if query.target:
        lines = await view.patch("diff-tree", "-r", base, await view.commit(query.target), place=place)
        return page_of(lines, query.offset)
    async with view.working_tree() as git:
        lines = await view.patch("diff", base, place=place, git=git)
        listing = ("ls-files", "-z", "--others", "--exclude-standard", "--", view.spec(place))
        names = (await view.ask(*listing, git=git)).decode(errors="replace").split("\0")
    new = sorted(view.shown(name) for name in names if name and not is_secret(name))
    if new:
        left = f" and {len(new) - MOST_UNTRACKED} more" if len(new) > MOST_UNTRACKED else ""
        lines += ["", f"Untracked files: {', '.join(new[:MOST_UNTRACKED])}{left}"]
    return page_of(lines, query.offset)


async def pickaxe(view: RepositoryView, query: PickaxeQuery) -> str:
    kind = "-G" if query.regex else "-S"
    revision, spec = await view.commit(query.revision), view.spec(view.place(query.path))
    listing = ("log", "-z", "--name-only", COMMIT_FORMAT, *NO_PROGRAMS, f"{kind}{query.text}")
    bounds = (f"--skip={query.offset - 1}", f"--max-count={query.count + 1}")
    found = read_commits(await view.ask(*listing, *bounds, revision, "--", spec))
    lines = []
    for commit, names in found[: query.count]:
        # A commit that matches in a secret alone would tell what the secret has in it.
        files = [view.shown(name) for name in names if not is_secret(name)]
        if files:
            more = f" and {len(files) - MOST_FILES} more" if len(files) > MOST_FILES else ""
            lines.append(f"{commit}\n    {', '.join(files[:MOST_FILES])}{more}")
    return _commits(lines, query.offset, more=len(found) > query.count, step=query.count)


async def who_knows(view: RepositoryView, query: ExpertQuery) -> str:
    revision, spec = await view.commit(query.revision), view.spec(view.place(query.path))
    listing = ("log", "--no-merges", f"--max-count={MOST_COUNTED}", COMMIT_FORMAT)
    commits = [commit for commit, _ in read_commits(await view.ask(*listing, revision, "--", spec))]
    if not commits:
        return "No commit has changed that."
    people: dict[str, list[Commit]] = {}
    for commit in commits:
        people.setdefault(commit.address.casefold(), []).append(commit)
    counted = Counter({address: len(theirs) for address, theirs in people.items()})
    lines = []
    for address, number in counted.most_common(MOST_PEOPLE):
        latest, first = people[address][0], people[address][-1]
        count = f"{number} commit{'' if number == 1 else 's'}"
        lines.append(
            f"{latest.author} <{latest.address}>: {count}, {first.date[:10]} to {latest.date[:10]}; "
            f"last {latest.id} {latest.subject}"
        )
    if len(people) > MOST_PEOPLE:
        lines.append(f"and {len(people) - MOST_PEOPLE} more people")
    if len(commits) == MOST_COUNTED:
        lines.append(f"(Only the last {MOST_COUNTED} commits are counted.)")
    return "\n".join(lines)


def _commits(lines: list[str], offset: int, *, more: bool, step: int | None = None) -> str:
    if more:
        following = offset + (len(lines) if step is None else step)
        lines = [*lines, f"(There are more. Continue with offset={following}.)"]
    return "\n".join(lines) or "No commit matches."


def _date(seconds: str) -> str:
    from datetime import UTC, datetime  # Late: only blame has times as numbers.

    try:
        return datetime.fromtimestamp(int(seconds), UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        return "unknown   "
