"""Finds a project's formatters and auto-fixing linters."""

from collections.abc import Iterator

import msgspec

from portico.project.folder import ProjectCommand, ProjectFolder

_PYTHON = (".py", ".pyi")
_SCRIPT = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".vue")
_PRETTY = (*_SCRIPT, ".css", ".scss", ".html", ".json", ".md", ".yaml", ".yml")


class ProjectFormatters(msgspec.Struct, frozen=True):
    """Formatters to run, in order, and configured ones that are not installed."""

    found: tuple[ProjectCommand, ...]
    missing: tuple[str, ...] = ()


class _Configured(msgspec.Struct, frozen=True):
    """A configured tool. `commands` are its arguments before the path."""

    name: str
    sign: str
    program: str | None
    commands: tuple[tuple[str, ...], ...]
    suffixes: tuple[str, ...]
    takes_place: bool = True


def find_formatters(project: ProjectFolder, place: str, suffix: str) -> ProjectFormatters:
    """Find the formatters for a path; `suffix` is empty for a folder. Blocks: call it in a thread."""
    found: list[ProjectCommand] = []
    missing: list[str] = []
    for tool in (*_python(project), *_script(project), *_compiled(project)):
        if suffix and suffix not in tool.suffixes:
            continue
        if tool.program is None:
            missing.append(f"{tool.name} ({tool.sign}) is not installed in the project or on PATH")
            continue
        found += [_tool(project, tool, tool.program, arguments, place) for arguments in tool.commands]
    if not found and not suffix and place == ".":
        found += _own_scripts(project)
    return ProjectFormatters(tuple(found), tuple(missing))


def _tool(
    project: ProjectFolder, tool: _Configured, program: str, arguments: tuple[str, ...], place: str
) -> ProjectCommand:
    command = (program, *arguments, place) if tool.takes_place else (program, *arguments)
    return ProjectCommand(name=tool.name, command=command, because=tool.sign, root=project.root)


def _python(project: ProjectFolder) -> Iterator[_Configured]:
    # Linters come first: their changes may need formatting.
    ruff = project.has("ruff.toml", ".ruff.toml")
    if ruff or project.pyproject_has("tool", "ruff"):
        program = project.python_program("ruff")
        yield _Configured(
            "ruff", ruff or "pyproject.toml", program, (("check", "--fix"), ("format",)), _PYTHON
        )
    if project.pyproject_has("tool", "black"):
        yield _Configured("black", "pyproject.toml", project.python_program("black"), ((),), _PYTHON)


def _script(project: ProjectFolder) -> Iterator[_Configured]:
    eslint = project.has("eslint.config.*", ".eslintrc*")
    if eslint or project.package("eslintConfig") is not None:
        yield _Configured(
            "eslint", eslint or "package.json", project.node_program("eslint"), (("--fix",),), _SCRIPT
        )
    prettier = project.has(".prettierrc*", "prettier.config.*")
    if prettier or project.package("prettier") is not None or project.depends_on("prettier"):
        program = project.node_program("prettier")
        yield _Configured("prettier", prettier or "package.json", program, (("--write",),), _PRETTY)


def _compiled(project: ProjectFolder) -> Iterator[_Configured]:
    if project.has("go.mod"):
        yield _Configured("gofmt", "go.mod", project.program("gofmt"), (("-w",),), (".go",))
    if project.has("Cargo.toml"):
        program = project.program("cargo")
        yield _Configured("rustfmt", "Cargo.toml", program, (("fmt",),), (".rs",), takes_place=False)


def _own_scripts(project: ProjectFolder) -> Iterator[ProjectCommand]:
    """Find the project's own format script, used if no tool is recognised."""
    npm = project.program("npm")
    script = next((name for name in ("format", "fmt", "fix") if project.package("scripts", name)), None)
    if npm is not None and script is not None:
        yield ProjectCommand(
            name="npm", command=(npm, "run", script), because="package.json", root=project.root
        )
    make, target = project.program("make"), project.make_target("fmt", "format", "fix")
    if make is not None and target is not None:
        yield ProjectCommand(name="make", command=(make, target), because="Makefile", root=project.root)
