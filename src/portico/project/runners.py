"""Finds the commands that run a project's tests."""

from collections.abc import Iterator

import msgspec

from portico.project.folder import ProjectCommand, ProjectFolder

_NO_TESTS_YET = "no test specified"
_TEST_FILES = ("test_*.py", "tests/test_*.py", "tests/**/test_*.py", "*_test.py")


class ProjectRunners(msgspec.Struct, frozen=True):
    """Test runners, the best first, and what is missing for others."""

    found: tuple[ProjectCommand, ...]
    missing: tuple[str, ...] = ()


def find_runners(project: ProjectFolder) -> ProjectRunners:
    """Find all test runners of a project. Blocks: call it in a thread."""
    found: list[ProjectCommand] = []
    missing: list[str] = []
    for one in (
        *_python(project),
        *_node(project),
        *_compiled(project),
        *make_commands(project, "test", "check"),
    ):
        if isinstance(one, ProjectCommand):
            found.append(one)
        else:
            missing.append(one)
    return ProjectRunners(tuple(found), tuple(missing))


def _python(project: ProjectFolder) -> Iterator[ProjectCommand | str]:
    configured = _pytest_configuration(project)
    tests = project.has(*_TEST_FILES)
    pytest = project.python_program("pytest") if configured or tests else None
    if pytest is not None:
        because = (
            f"{configured} configures pytest" if configured else f"{tests} exists and pytest is installed"
        )
        yield ProjectCommand(name="pytest", command=(pytest,), because=because, root=project.root)
        return
    python = project.python_program("python") or project.program("python3") if tests or configured else None
    if configured:
        yield f"{configured} configures pytest, but no pytest was found in `.venv` or on PATH"
    elif tests and python is not None and "unittest" in project.text(tests):
        folder = tests.rpartition("/")[0] or "."
        start = () if folder == "." else ("-s", folder.split("/")[0], "-t", ".")
        yield ProjectCommand(
            name="unittest",
            command=(python, "-m", "unittest", "discover", *start),
            because=f"{tests} uses unittest",
            root=project.root,
        )
    elif tests:
        yield f"{tests} looks like a test for pytest, but no pytest was found in `.venv` or on PATH"


def _pytest_configuration(project: ProjectFolder) -> str | None:
    if project.pyproject_has("tool", "pytest"):
        return "pyproject.toml"
    if "[tool:pytest]" in project.text("setup.cfg"):
        return "setup.cfg"
    if "[pytest]" in project.text("tox.ini"):
        return "tox.ini"
    return project.has("pytest.ini", ".pytest.ini", "pytest.toml", "conftest.py", "tests/conftest.py")


def _node(project: ProjectFolder) -> Iterator[ProjectCommand | str]:
    script = project.package("scripts", "test")
    if not isinstance(script, str) or not script.strip() or _NO_TESTS_YET in script:
        return
    manager = node_manager(project)
    program = project.program(manager)
    if program is None:
        yield f"package.json has a test script, but {manager} was not found"
    else:
        command = (program, "run", "test") if manager == "bun" else (program, "test")
        yield ProjectCommand(
            name=manager, command=command, because="package.json has a test script", root=project.root
        )


def node_manager(project: ProjectFolder) -> str:
    """Return the package manager whose lockfile the project has; npm if none."""
    managers = (("pnpm", "pnpm-lock.yaml"), ("yarn", "yarn.lock"), ("bun", "bun.lock*"))
    return next((name for name, lock in managers if project.has(lock)), "npm")


def _compiled(project: ProjectFolder) -> Iterator[ProjectCommand | str]:
    for sign, program, rest in (
        ("Cargo.toml", "cargo", ("test",)),
        ("go.mod", "go", ("test", "./...")),
        ("pom.xml", "mvn", ("-B", "test")),
    ):
        if project.has(sign) is None:
            continue
        path = project.program(program)
        if path is None:
            yield f"{sign} exists, but {program} was not found"
        else:
            yield ProjectCommand(
                name=program, command=(path, *rest), because=f"{sign} exists", root=project.root
            )


def make_commands(project: ProjectFolder, *names: str) -> Iterator[ProjectCommand | str]:
    """The command for the first of these targets that the Makefile has, or why it cannot run."""
    target = project.make_target(*names)
    if target is None:
        return
    make = project.program("make")
    if make is None:
        yield f"the Makefile has a target {target}, but make was not found"
    else:
        because = f"the Makefile has a target {target}"
        yield ProjectCommand(name="make", command=(make, target), because=because, root=project.root)
