"""/changes: shows what changed in the folder since the last commit."""

import asyncio
import os
from pathlib import Path, PurePosixPath

import msgspec

from portico.config.paths import cache_folder
from portico.domain.errors import InvalidInput
from portico.domain.secret_files import is_private
from portico.porter.commands.command import SlashCommand, usage_error
from portico.porter.markdown import code_block, count, inline_code
from portico.porter.tool_call import ToolCallDetails
from portico.porter.turn import PorterTurn

_MOST_FILES = 50
_MOST_LINES = 200


class UncommittedChanges(msgspec.Struct, frozen=True):
    """Changed files, each with a note, and the changed lines of those that cannot contain secrets."""

    files: list[tuple[str, str]]
    patch: list[str]
    secret: int


async def run(turn: PorterTurn, argument: str) -> None:
    if argument.strip():
        raise usage_error(COMMAND.usage, "This command takes no arguments.")
    async with turn.tool(ToolCallDetails(title="Show changes since the last commit", kind="read")):
        changed = await _collect(turn)
    if not changed.files:
        await turn.say("Nothing changed since the last commit.")
        return
    files = [f"- {inline_code(name)} {note}" for name, note in changed.files[:_MOST_FILES]]
    if len(changed.files) > _MOST_FILES:
        files.append(f"- … and {len(changed.files) - _MOST_FILES} more")
    total = count(len(changed.files), "file")
    await turn.say(f"{total} changed since the last commit:\n\n" + "\n".join(files))
    if changed.patch:
        await turn.say(code_block("\n".join(changed.patch[:_MOST_LINES]), "diff"))
    if len(changed.patch) > _MOST_LINES:
        await turn.say(f"Only the first {_MOST_LINES} of {len(changed.patch)} lines are shown.")
    if changed.secret:
        await turn.say(f"{count(changed.secret, 'file')} may contain secrets: their lines are left out.")


async def _collect(turn: PorterTurn) -> UncommittedChanges:
    # Late: every session announces the command, and few run it.
    from portico.git.repository import find_repository
    from portico.git.working_tree import NO_PROGRAMS, working_tree

    folder = turn.workspace.root
    repository = await find_repository(folder, turn.environ)
    if repository is None:
        raise InvalidInput("This folder is not in a git repository, so what changed is not known.")
    # Without a commit, everything is compared with the empty tree.
    base = (
        await repository.commit_of("HEAD")
        or (await repository.git.run("hash-object", "-t", "tree", "--stdin")).text
    )
    spec = await asyncio.to_thread(_spec, repository.root, folder)
    async with working_tree(repository, cache_folder(turn.environ) / "changes") as private:
        git = private.having("core.quotePath=false", GIT_LITERAL_PATHSPECS="0")
        counted = (await git.run("diff", base, "--numstat", "-z", *NO_PROGRAMS, "--", spec)).output
        files = list(map(_file, _names(counted)))
        secret = [name for name, _ in files if is_private(name.split("/"))]
        without = [f":(top,exclude,literal){name}" for name in secret]
        patch = (await git.run("diff", base, "-p", "--no-color", *NO_PROGRAMS, "--", spec, *without)).output
        listed = await git.run("ls-files", "-z", "--others", "--exclude-standard", "--full-name", "--", spec)
    files += [(name, "(new)") for name in _names(listed.output)]
    return UncommittedChanges(files, patch.decode(errors="replace").splitlines(), len(secret))


def _file(record: str) -> tuple[str, str]:
    added, removed, name = record.split("\t", 2)
    return name, "(binary)" if added == "-" else f"+{added} −{removed}"


def _names(output: bytes) -> list[str]:
    return [os.fsdecode(name) for name in output.split(b"\0") if name]


def _spec(root: Path, folder: Path) -> str:
    inner = PurePosixPath(Path(os.path.realpath(folder)).relative_to(os.path.realpath(root)).as_posix())
    return ":(top)" if str(inner) == "." else f":(top,literal){inner}"


COMMAND = SlashCommand(
    name="changes",
    purpose="show what changed since the last commit",
    run=run,
    more="New files are named; of changed ones the lines are shown. Files ignored by git are left out.",
)
