"""Modules of Portico import each other without circles, so that any thread may import any of them at any time.

Python gives half-made modules to a thread that enters a circle of imports while another thread is inside.
"""

import ast
from collections.abc import Iterator, Sequence
from graphlib import TopologicalSorter
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"


def test_no_module_is_imported_in_a_circle() -> None:
    files = {_name(file): file for file in (SOURCE / "portico").rglob("*.py")}
    graph = {name: {*_imported(file, files), *_parents(name)} - {name} for name, file in files.items()}
    assert len(list(TopologicalSorter(graph).static_order())) == len(files)


def _name(file: Path) -> str:
    parts = file.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _parents(name: str) -> Iterator[str]:
    while name := name.rpartition(".")[0]:
        yield name


def _imported(file: Path, known: dict[str, Path]) -> Iterator[str]:
    for statement in _at_import(ast.parse(file.read_text()).body):
        prefix = f"{statement.module}." if isinstance(statement, ast.ImportFrom) else ""
        for alias in statement.names:
            name = prefix + alias.name
            while name and name not in known:
                name = name.rpartition(".")[0]
            if name:
                yield from (name, *_parents(name))


def _at_import(statements: Sequence[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the imports that run when the module is imported: not those in functions and for the type checker."""
    for statement in statements:
        match statement:
            case ast.Import() | ast.ImportFrom():
                yield statement
            case ast.If(test=ast.Name("TYPE_CHECKING"), orelse=otherwise):
                yield from _at_import(otherwise)
            case ast.If(body=body, orelse=otherwise):
                yield from _at_import([*body, *otherwise])
            case ast.Try(body=body, handlers=handlers, orelse=otherwise, finalbody=last):
                caught = [inner for handler in handlers for inner in handler.body]
                yield from _at_import([*body, *caught, *otherwise, *last])
            case ast.With(body=body) | ast.ClassDef(body=body):
                yield from _at_import(body)
            case _:
                pass
