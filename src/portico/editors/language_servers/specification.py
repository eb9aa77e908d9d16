"""A language server: its program, its languages, its options, and how it is installed."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec


class InstallRecipe(msgspec.Struct, frozen=True, kw_only=True):
    """Packages of one tool, in pinned versions."""

    tool: Literal["pip", "npm", "go", "cargo"]
    packages: tuple[str, ...]
    programs: str = ""
    """The folder of the program within the installation, if the tool does not put it where programs are looked for."""


class LanguageServerSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One server as it is known before it is started.

    In `settings` and `initialization`, `${python}` stands for the project's interpreter and `${modules}` for the
    folder of npm packages that the program is in; an entry whose value is not known is left out. In `command`,
    `${data}` stands for a folder that the server has for itself while it runs.
    """

    name: str
    command: tuple[str, ...]
    languages: Mapping[str, str]
    """Language ids by the extension of a file."""
    recipe: InstallRecipe | None = None
    hint: str = ""
    """Hint how to get the program without a recipe, or what else it needs."""
    env: Mapping[str, str] = {}
    settings: Mapping[str, Any] = {}
    initialization: Mapping[str, Any] = {}
    untrusted_settings: Mapping[str, Any] | None = {}
    """Settings for folders that are not trusted; None if the server must not run there, as it runs their code."""
    untrusted_initialization: Mapping[str, Any] = {}
    asks_tsserver: bool = False
    """Whether problems are asked of TypeScript's own server, behind this one."""
    ready_words: str = ""
    """A pattern of what the server logs once it knows all files of the project, if it does not report progress."""
    project_files: tuple[str, ...] = ()
    """Names of files that tell the server about a project."""
    memory_mb: int = 4096

    def language_of(self, path: Path) -> str | None:
        return self.languages.get(path.suffix.lower()) or self.languages.get(path.name)


class ServerCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A server that was found on this machine, ready to be started in a tree."""

    spec: LanguageServerSpec
    command: tuple[str, ...]
    tree: Path
    environ: Mapping[str, str]
    settings: Mapping[str, Any]
    initialization: Mapping[str, Any]
    data: Path | None = None
    """A folder to remove when the server has ended."""
