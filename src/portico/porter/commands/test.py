"""/test: finds and runs the project's tests, and summarizes the result."""

import asyncio
import shlex

from portico.domain.errors import InvalidInput
from portico.porter.commands.command import SlashCommand
from portico.porter.markdown import count, inline_code
from portico.porter.terminals import CommandResult
from portico.porter.turn import PorterTurn
from portico.project.build_commands import choose_command
from portico.project.folder import ProjectCommand, ProjectFolder
from portico.project.runner_output import read_result
from portico.project.runners import find_runners

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
    runner = choose_command(runners, words, "test", hint="`/run <command>` runs any command.")
    await turn.think(f"Chosen because {runner.because}.")
    ended = await turn.run(runner.command, str(runner), otherwise="The tests were not run.")
    await turn.say(_summary(runner, ended))
    if not words and len(runners.found) > 1:
        others = ", ".join(f"`/test {other.name}`" for other in runners.found if other.name != runner.name)
        await turn.say(f"There are other tests here: {others}.")


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
    failed = [test.name for test in result.failed_tests]
    if not failed or ended.succeeded:
        return sentence
    more = len(failed) - _MAX_NAMED
    names = ", ".join(map(inline_code, failed[:_MAX_NAMED]))
    return f"{sentence} What failed: {names}{f' and {more} more' if more > 0 else ''}."


COMMAND = SlashCommand(
    name="test",
    purpose="find and run the tests of this project",
    hint="[runner] [arguments]",
    run=run,
    more="The arguments go to the test runner: `/test tests/test_a.py -k name`. `/test make` picks one of several.",
)
