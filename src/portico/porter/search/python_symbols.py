"""Finds definitions and uses in Python source by its syntax tree."""

import ast
import warnings
from pathlib import Path

import msgspec

from portico.porter.search.symbol import Symbol, SymbolDefinition

SUFFIXES = frozenset({".py", ".pyi"})
_LONGEST_VALUE = 120

Function = ast.FunctionDef | ast.AsyncFunctionDef


class FileSymbols(msgspec.Struct, frozen=True):
    """Definitions and uses of a symbol in one file. Uses are line numbers, one for each occurrence."""

    definitions: list[SymbolDefinition]
    uses: list[int]


def analyze_file(path: Path, module: tuple[str, ...], source: bytes, symbol: Symbol) -> FileSymbols | None:
    """Find a symbol in a file; None if the file cannot be parsed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
        collector = _Collector(path, module, symbol)
        collector.visit(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return FileSymbols(collector.definitions, sorted(collector.uses))


class _Collector(ast.NodeVisitor):
    def __init__(self, path: Path, module: tuple[str, ...], symbol: Symbol) -> None:
        self.definitions: list[SymbolDefinition] = []
        self.uses: list[int] = []
        self._path = path
        self._module = module
        self._symbol = symbol
        self._around: list[tuple[str, str]] = []

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        bases = [ast.unparse(part) for part in (*node.bases, *node.keywords)]
        signature = f"class {node.name}({', '.join(bases)})" if bases else f"class {node.name}"
        made = next(
            (part for part in node.body if isinstance(part, Function) and part.name == "__init__"), None
        )
        if made is not None:
            signature += f":\n    {_signature(made)}"
        members = [
            part.name for part in node.body if isinstance(part, Function) and not part.name.startswith("_")
        ]
        self._define(node, node.name, "class", signature, tuple(members))
        self._inside(node.name, "class", node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._function(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._assign(target, node, node.value, None)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._assign(node.target, node, node.value, node.annotation)
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if node.id == self._symbol.name and not isinstance(node.ctx, ast.Store):
            self.uses.append(node.lineno)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if node.attr == self._symbol.name:
            self.uses.append(node.end_lineno or node.lineno)
        self.generic_visit(node)

    def visit_alias(self, node: ast.alias) -> None:
        if self._symbol.name in (node.name.rpartition(".")[2], node.asname):
            self.uses.append(node.lineno)

    def _function(self, node: Function) -> None:
        kind = "method" if self._around and self._around[-1][1] == "class" else "function"
        self._define(node, node.name, kind, _signature(node))
        self._inside(node.name, "function", node)

    def _inside(self, name: str, kind: str, node: ast.AST) -> None:
        self._around.append((name, kind))
        self.generic_visit(node)
        self._around.pop()

    def _assign(
        self, target: ast.expr, node: ast.stmt, value: ast.expr | None, type_: ast.expr | None
    ) -> None:
        if not isinstance(target, ast.Name) or any(kind == "function" for _, kind in self._around):
            return
        text = target.id + (f": {ast.unparse(type_)}" if type_ is not None else "")
        if value is not None:
            shown = ast.unparse(value)
            text += f" = {shown if len(shown) <= _LONGEST_VALUE else shown[:_LONGEST_VALUE] + '…'}"
        self._define(node, target.id, "attribute" if self._around else "variable", text)

    def _define(
        self, node: ast.stmt, name: str, kind: str, signature: str, members: tuple[str, ...] = ()
    ) -> None:
        qualified = (*(around for around, _ in self._around), name)
        if name != self._symbol.name or not self._symbol.names((*self._module, *qualified)):
            return
        documentation = ""
        decorators: tuple[str, ...] = ()
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            documentation = ast.get_docstring(node) or ""
            decorators = tuple(ast.unparse(one) for one in node.decorator_list)
        self.definitions.append(
            SymbolDefinition(
                name=".".join(qualified),
                kind=kind,
                path=self._path,
                line=node.lineno,
                signature=signature,
                language="python",
                documentation=documentation,
                decorators=decorators,
                members=members,
            )
        )


def _signature(node: Function) -> str:
    word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    return f"{word} {node.name}({ast.unparse(node.args)}){returns}"
