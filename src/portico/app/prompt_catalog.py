"""Opens the prompt catalog of a workspace, and offers its prompts to the terminal."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from portico.config.paths import config_folder
from portico.doors.terminal.input.prompt_blanks import Blank, KeptPrompt
from portico.prompts.catalog import PromptCatalog


def open_prompt_catalog(workspace: Path, environ: Mapping[str, str]) -> PromptCatalog:
    return PromptCatalog(workspace, config_folder(environ) / "prompts")


def terminal_prompts(catalog: PromptCatalog) -> Iterator[KeptPrompt]:
    """The usable prompts, each with a field for every value that the person has to enter."""
    for entry in catalog.entries():
        if entry.prompt is not None and not entry.hidden_by:
            pieces = [
                one if isinstance(one, str) else Blank(one.name, one.description)
                for one in entry.prompt.open_pieces()
            ]
            text = "".join(one.mark if isinstance(one, Blank) else one for one in pieces)
            blanks = tuple(one for one in pieces if isinstance(one, Blank))
            yield KeptPrompt(entry.name, entry.prompt.description, text, blanks)
