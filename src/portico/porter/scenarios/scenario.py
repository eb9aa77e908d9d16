"""A scenario: instructions, tools, file access, model and limits of a session. It never widens permissions."""

from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Annotated

import msgspec
from msgspec import Meta

DEFAULT = "CODE"
_READ_ONLY = "read-only:"


class ScenarioMode(StrEnum):
    """File access: write files, only propose changes, or only read."""

    WRITE = "write"
    PROPOSE = "propose"
    READ = "read"


class ScenarioLimits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits: `steps` is the number of model calls in a turn; `output_tokens` limits each response."""

    steps: Annotated[int, Meta(ge=1, le=500)] = 60
    output_tokens: Annotated[int, Meta(ge=16)] | None = None


class Scenario(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A scenario. `tools` are names or patterns; tools of MCP servers are named `server__tool`.

    A pattern after `read-only:` is for tools that change nothing, by the word of a trusted MCP server.
    """

    name: Annotated[str, Meta(pattern=r"^[A-Z][A-Z0-9_]{0,39}$")]
    description: Annotated[str, Meta(min_length=1, max_length=200)]
    instructions: Annotated[str, Meta(min_length=1)]
    tools: tuple[Annotated[str, Meta(min_length=1)], ...]
    mode: ScenarioMode
    model: str | None = None
    limits: ScenarioLimits = ScenarioLimits()

    @property
    def title(self) -> str:
        """The name for people: `EDITOR_CODE` is "Editor code"."""
        return self.name.replace("_", " ").capitalize()

    def offers(self, tool: str, *, read_only: bool = False) -> bool:
        patterns = (pattern.removeprefix(_READ_ONLY) if read_only else pattern for pattern in self.tools)
        return any(fnmatchcase(tool, pattern) for pattern in patterns)


class InvalidScenario(msgspec.Struct, frozen=True, kw_only=True):
    """The problem of a broken scenario file; `line` counts from 1."""

    path: str
    line: int
    why: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.why}"


class ScenarioCatalog(msgspec.Struct, frozen=True):
    """The scenarios of a workspace by name, and the problems of broken files."""

    by_name: dict[str, Scenario]
    problems: tuple[InvalidScenario, ...] = ()

    @property
    def default(self) -> Scenario:
        return self.by_name[DEFAULT]

    def get(self, name: str) -> Scenario | None:
        return self.by_name.get(name)
