"""A symbol as a person writes it, and one definition of it."""

from pathlib import Path

import msgspec


class SymbolDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """`name` is qualified by the classes and functions around it; `signature` is code of `language`."""

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
    """A name as a person writes it, with what it is qualified by: `Class.method`, `module::function`."""

    parts: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.parts[-1]

    def __str__(self) -> str:
        return ".".join(self.parts)

    def names(self, qualified: tuple[str, ...]) -> bool:
        """Whether a fully qualified name is this one, or ends with it."""
        return qualified[-len(self.parts) :] == self.parts
