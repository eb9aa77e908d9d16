"""A symbol as a user writes it, and a definition of it."""

from pathlib import Path

import msgspec


class SymbolDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """A definition. `name` is qualified by enclosing classes and functions; `signature` is code in `language`."""

    name: str
    kind: str
    path: Path
    line: int
    signature: str
    language: str
    documentation: str = ""
    decorators: tuple[str, ...] = ()
    members: tuple[str, ...] = ()


class Symbol(msgspec.Struct, frozen=True):
    """A possibly qualified name, such as `Class.method` or `module::function`."""

    parts: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.parts[-1]

    def __str__(self) -> str:
        return ".".join(self.parts)

    def names(self, qualified: tuple[str, ...]) -> bool:
        """Return whether a fully qualified name equals this symbol or ends with it."""
        return qualified[-len(self.parts) :] == self.parts
