"""Finds the commands that check and build a project, and asks tools for reports that can be read exactly."""

import shlex
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from portico.domain.errors import InvalidInput
from portico.project.folder import ProjectCommand, ProjectFolder
from portico.project.runners import ProjectRunners, find_runners, make_commands, node_manager

ProjectTask = Literal["check", "build", "test"]

_SUPPORTED = {
    "check": "cargo, go, tsc, ESLint, ruff, mypy, Maven, and scripts or make targets called check, lint or typecheck",
    "build": "cargo, go, Maven, a build script in package.json, and make targets called build, all or compile",
    "test": "pytest, unittest, npm, cargo, go, Maven and make",
}
NOTHING_FOUND = {
    "check": "Nothing was found that checks this project.",
    "build": "Nothing was found that builds this project.",
    "test": "No tests were found that can be run.",
}
_TAKES_SEPARATOR = ("npm", "bun")


def find_commands(project: ProjectFolder, task: ProjectTask) -> ProjectRunners:
    """Find the commands for a task, the best first. Blocks: call it in a thread."""
    if task == "test":
        return find_runners(project)
    found: list[ProjectCommand] = []
    missing: list[str] = []
    for one in (_checks if task == "check" else _builds)(project):
        if isinstance(one, ProjectCommand):
            found.append(one)
        else:
            missing.append(one)
    return ProjectRunners(tuple(found), tuple(missing))


def choose_command(
    runners: ProjectRunners, words: Sequence[str], task: ProjectTask, *, hint: str = ""
) -> ProjectCommand:
    """The command that the first word names, or the best one, with the other words.

    InvalidInput if there is none; `hint` says what else to do then.
    """
    if not runners.found:
        missing = "".join(f"\n- {one}" for one in runners.missing)
        raise InvalidInput(
            NOTHING_FOUND[task] + (f" What is missing:\n{missing}" if missing else ""),
            suggestion=f"Supported: {_SUPPORTED[task]}. {hint}".rstrip(),
        )
    named = next((runner for runner in runners.found if words and runner.name == words[0]), None)
    chosen = named or runners.found[0]
    arguments = words[1:] if named else words
    separator = ("--",) if arguments and chosen.name in _TAKES_SEPARATOR else ()
    return msgspec.structs.replace(chosen, command=(*chosen.command, *separator, *arguments))


def with_reports(command: ProjectCommand, junit: str) -> ProjectCommand:
    """The command with options that make its tool report exactly; `junit` is the file for an XML report."""
    words = list(command.command)
    if command.name == "pytest":
        words.append(f"--junitxml={junit}")
    elif command.name == "cargo" and words[1:2]:
        words.insert(2, "--message-format=json")
    elif command.name == "go" and words[1:2] == ["test"]:
        words.insert(2, "-json")
    return msgspec.structs.replace(command, command=tuple(words))


class _Tool(msgspec.Struct, frozen=True):
    """A tool of the project, the file that names it, and its program if it is installed."""

    name: str
    sign: str
    program: str | None
    arguments: str


def _tools(project: ProjectFolder, tools: Iterator[_Tool]) -> Iterator[ProjectCommand | str]:
    for tool in tools:
        if tool.program is None:
            yield f"{tool.sign} calls for {tool.name}, which was not found"
        else:
            yield ProjectCommand(
                name=tool.name,
                command=(tool.program, *shlex.split(tool.arguments)),
                because=f"{tool.sign} exists",
                root=project.root,
            )


def _checks(project: ProjectFolder) -> Iterator[ProjectCommand | str]:
    yield from _tools(project, _check_tools(project))
    yield from _scripts(project, "check", "typecheck", "lint")
    yield from make_commands(project, "check", "lint")


def _builds(project: ProjectFolder) -> Iterator[ProjectCommand | str]:
    yield from _tools(
        project, _compilers(project, cargo="build", go="build ./...", maven="-B -q -DskipTests package")
    )
    yield from _scripts(project, "build", "compile")
    yield from make_commands(project, "build", "all", "compile")


def _compilers(project: ProjectFolder, *, cargo: str, go: str, maven: str) -> Iterator[_Tool]:
    if project.has("Cargo.toml"):
        yield _Tool("cargo", "Cargo.toml", project.program("cargo"), cargo)
    if project.has("go.mod"):
        yield _Tool("go", "go.mod", project.program("go"), go)
    if project.has("pom.xml"):
        yield _Tool("mvn", "pom.xml", project.program("mvn"), maven)


def _check_tools(project: ProjectFolder) -> Iterator[_Tool]:
    yield from _compilers(project, cargo="check --all-targets", go="vet ./...", maven="-B -q test-compile")
    if project.has("tsconfig.json"):
        yield _Tool("tsc", "tsconfig.json", project.node_program("tsc"), "--noEmit --pretty false")
    if eslint := project.has("eslint.config.*", ".eslintrc*"):
        yield _Tool("eslint", eslint, project.node_program("eslint"), "--format json .")
    ruff = project.has("ruff.toml", ".ruff.toml")
    if ruff or project.pyproject_has("tool", "ruff"):
        sign = ruff or "pyproject.toml"
        yield _Tool("ruff", sign, project.python_program("ruff"), "check --output-format json-lines")
    mypy = project.has("mypy.ini", ".mypy.ini")
    if mypy or project.pyproject_has("tool", "mypy"):
        sign, target = mypy or "pyproject.toml", "" if project.pyproject_has("tool", "mypy", "files") else "."
        program = project.python_program("mypy")
        yield _Tool("mypy", sign, program, f"--no-pretty --show-column-numbers {target}")


def _scripts(project: ProjectFolder, *names: str) -> Iterator[ProjectCommand | str]:
    for name in names:
        script = project.package("scripts", name)
        if isinstance(script, str) and script.strip():
            manager = node_manager(project)
            program = project.program(manager)
            if program is None:
                yield f"package.json has a {name} script, but {manager} was not found"
            else:
                because = f"package.json has a {name} script"
                command = (program, "run", name)
                yield ProjectCommand(name=manager, command=command, because=because, root=project.root)
            return
