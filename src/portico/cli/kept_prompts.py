"""The prompts that are kept as files: where they are, and how they are offered on a terminal."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from portico.config.paths import config_folder
from portico.doors.terminal.prompting import KeptPrompt
from portico.prompts.catalog import Catalog


def catalog_of(workspace: Path, environ: Mapping[str, str]) -> Catalog:
    return Catalog(workspace, config_folder(environ) / "prompts")


def in_words(catalog: Catalog) -> Iterator[KeptPrompt]:
    """Those that can be used. What the person has to say stands in them as {{ name }}."""
    for entry in catalog.entries():
        if entry.prompt is not None and not entry.hidden_by:
            pieces = entry.prompt.open_pieces()
            text = "".join(one if isinstance(one, str) else f"{{{{ {one.name} }}}}" for one in pieces)
            yield KeptPrompt(entry.name, entry.prompt.description, text)
