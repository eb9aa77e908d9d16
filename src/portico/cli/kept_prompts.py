"""The prompts that are kept as files: where they are, and how they are offered on a terminal."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from portico.config.paths import config_folder
from portico.doors.terminal.blanks import Blank
from portico.doors.terminal.prompting import KeptPrompt
from portico.prompts.catalog import Catalog


def catalog_of(workspace: Path, environ: Mapping[str, str]) -> Catalog:
    return Catalog(workspace, config_folder(environ) / "prompts")


def in_words(catalog: Catalog) -> Iterator[KeptPrompt]:
    """Those that can be used. What the person has to say is a blank in them."""
    for entry in catalog.entries():
        if entry.prompt is not None and not entry.hidden_by:
            pieces = [
                one if isinstance(one, str) else Blank(one.name, one.description)
                for one in entry.prompt.open_pieces()
            ]
            text = "".join(one.mark if isinstance(one, Blank) else one for one in pieces)
            blanks = tuple(one for one in pieces if isinstance(one, Blank))
            yield KeptPrompt(entry.name, entry.prompt.description, text, blanks)
