"""/test: finds and runs the project's tests, and summarizes the result."""

import asyncio
import shlex

import msgspec

from portico.domain.errors import InvalidInput
from portico.porter.commands.command import SlashCommand
from portico.porter.markdown import count, inline_code
from portico.porter.terminals import CommandResult
from portico.porter.turn import PorterTurn
from portico.project.folder import ProjectCommand, ProjectFolder
from portico.project.runner_output import read_result
from portico.project.runners import ProjectRunners, find_runners

_MAX_NAMED = 10
_PYTEST_FOUND_NONE = 5


async def run(turn: PorterTurn, argument: str) -> None:
    try:
        words = shlex.split(argument)
    except ValueError as error:
        raise InvalidInput(f"Invalid arguments: {error}.") from error
    if any("\0" in word for word in words):
        raise InvalidInput("The arguments contain a NUL character.")
    runners = await asyncio.to_thread(find_runners, ProjectFolder(turn.workspace.root, turn.environ))
    runner = _chosen(runners, words)
    await turn.think(f"Chosen because {runner.because}.")
    ended = await turn.run(runner.command, str(runner), otherwise="The tests were not run.")
    await turn.say(_summary(runner, ended))
    if not words and len(runners.found) > 1:
        others = ", ".join(f"`/test {other.name}`" for other in runners.found if other.name != runner.name)
        await turn.say(f"There are other tests here: {others}.")


def _chosen(runners: ProjectRunners, words: list[str]) -> ProjectCommand:
    """Return the named test runner, or the best one, with the user's arguments."""
    if not runners.found:
        missing = "".join(f"\n- {one}" for one in runners.missing)
        raise InvalidInput(
            "Porter found no tests that it can run." + (f" What is missing:\n{missing}" if missing else ""),
            suggestion="Porter supports pytest, unittest, npm, cargo, go and make. `/run <command>` runs any command.",
        )
    named = next((runner for runner in runners.found if words and runner.name == words[0]), None)
    chosen = named or runners.found[0]
    arguments = words[1:] if named else words
    separator = ("--",) if arguments and chosen.name in ("npm", "bun") else ()
    return msgspec.structs.replace(chosen, command=(*chosen.command, *separator, *arguments))


def _summary(runner: ProjectCommand, ended: CommandResult) -> str:
    result = read_result(ended.plain_output())
    if runner.name == "pytest" and ended.exit_code == _PYTEST_FOUND_NONE:
        return f"**No tests ran**: {inline_code(str(runner))} found none (exit code {ended.exit_code})."
    verdict = "**Tests passed**" if ended.succeeded else "**Tests failed**"
    if not result.is_known:
        return f"{verdict}: {inline_code(str(runner))} ended with {ended}."
    parts = [count(result.passed or 0, result.what) + " passed", f"{result.failed or 0} failed"]
    if result.skipped:
        parts.append(f"{result.skipped} skipped")
    sentence = f"{verdict}: {', '.join(parts)} ({runner.name}, {ended})."
    if not result.failures or ended.succeeded:
        return sentence
    more = len(result.failures) - _MAX_NAMED
    names = ", ".join(map(inline_code, result.failures[:_MAX_NAMED]))
    return f"{sentence} What failed: {names}{f' and {more} more' if more > 0 else ''}."


COMMAND = SlashCommand(
    name="test",
    purpose="find and run the tests of this project",
    hint="[runner] [arguments]",
    run=run,
    more="The arguments go to the test runner: `/test tests/test_a.py -k name`. `/test make` picks one of several.",
)
