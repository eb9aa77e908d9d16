"""Finds out how a project runs its tests."""

from collections.abc import Iterator

import msgspec

from portico.porter.projects.folder import Project, Tool

_NO_TESTS_YET = "no test specified"
_TEST_FILES = ("test_*.py", "tests/test_*.py", "tests/**/test_*.py", "*_test.py")


class Runners(msgspec.Struct, frozen=True):
    """Those that can be run, the best first, and what is missing for others."""

    found: tuple[Tool, ...]
    missing: tuple[str, ...] = ()


def find_runners(project: Project) -> Runners:
    """Every way to run the tests of a project. Blocks: call it in a thread."""
    found: list[Tool] = []
    missing: list[str] = []
    for one in (*_python(project), *_node(project), *_compiled(project), *_make(project)):
        if isinstance(one, Tool):
            found.append(one)
        else:
            missing.append(one)
    return Runners(tuple(found), tuple(missing))


def _python(project: Project) -> Iterator[Tool | str]:
    configured = _pytest_configuration(project)
    tests = project.has(*_TEST_FILES)
    pytest = project.python_program("pytest") if configured or tests else None
    if pytest is not None:
        because = (
            f"{configured} configures pytest" if configured else f"{tests} is there, and pytest is installed"
        )
        yield Tool(name="pytest", command=(pytest,), because=because, root=project.root)
        return
    python = project.python_program("python") or project.program("python3") if tests or configured else None
    if configured:
        yield f"{configured} configures pytest, but no pytest was found in `.venv` or on PATH"
    elif tests and python is not None and "unittest" in project.text(tests):
        folder = tests.rpartition("/")[0] or "."
        start = () if folder == "." else ("-s", folder.split("/")[0], "-t", ".")
        yield Tool(
            name="unittest",
            command=(python, "-m", "unittest", "discover", *start),
            because=f"{tests} uses unittest",
            root=project.root,
        )
    elif tests:
        yield f"{tests} looks like a test for pytest, but no pytest was found in `.venv` or on PATH"


def _pytest_configuration(project: Project) -> str | None:
    if project.pyproject_has("tool", "pytest"):
        return "pyproject.toml"
    if "[tool:pytest]" in project.text("setup.cfg"):
        return "setup.cfg"
    if "[pytest]" in project.text("tox.ini"):
        return "tox.ini"
    return project.has("pytest.ini", ".pytest.ini", "pytest.toml", "conftest.py", "tests/conftest.py")


def _node(project: Project) -> Iterator[Tool | str]:
    script = project.package("scripts", "test")
    if not isinstance(script, str) or not script.strip() or _NO_TESTS_YET in script:
        return
    manager = next(
        (
            name
            for name, lock in (("pnpm", "pnpm-lock.yaml"), ("yarn", "yarn.lock"), ("bun", "bun.lock*"))
            if project.has(lock)
        ),
        "npm",
    )
    program = project.program(manager)
    if program is None:
        yield f"package.json has a test script, but {manager} was not found"
    else:
        command = (program, "run", "test") if manager == "bun" else (program, "test")
        yield Tool(name=manager, command=command, because="package.json has a test script", root=project.root)


def _compiled(project: Project) -> Iterator[Tool | str]:
    for sign, program, rest in (("Cargo.toml", "cargo", ("test",)), ("go.mod", "go", ("test", "./..."))):
        if project.has(sign) is None:
            continue
        path = project.program(program)
        if path is None:
            yield f"{sign} is there, but {program} was not found"
        else:
            yield Tool(name=program, command=(path, *rest), because=f"{sign} is there", root=project.root)


def _make(project: Project) -> Iterator[Tool | str]:
    target = project.make_target("test", "check")
    if target is None:
        return
    make = project.program("make")
    if make is None:
        yield f"the Makefile has a target {target}, but make was not found"
    else:
        because = f"the Makefile has a target {target}"
        yield Tool(name="make", command=(make, target), because=because, root=project.root)
