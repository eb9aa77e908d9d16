"""Opens the prompt catalog of a workspace, and offers its prompts to the terminal."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from portico.config.paths import config_folder
from portico.config.settings import PROMPT_FOLDER, Settings, load_settings
from portico.domain.catalog import PromptBlank, PromptEntry
from portico.domain.errors import InvalidInput
from portico.doors.terminal.input.prompt_blanks import ChatPrompt, blank_mark
from portico.prompts.catalog import BUILT_IN_FOLDER, CatalogEntry, PromptCache, PromptCatalog
from portico.prompts.directories import PromptDirectory
from portico.prompts.session_variables import load_session_variables


def open_prompt_catalog(
    workspace: Path, environ: Mapping[str, str], cache: PromptCache | None = None
) -> PromptCatalog:
    """Return the prompts of a workspace, its user and Portico. InvalidInput for broken settings of the user."""
    settings = load_settings(config_folder(environ), workspace)
    return PromptCatalog([*prompt_directories(workspace, config_folder(environ), settings)], cache)


def prompt_directories(workspace: Path, config: Path, settings: Settings) -> Iterator[PromptDirectory]:
    """The directories to search, in order. An untrusted workspace can only name its own."""
    usual = {workspace / PROMPT_FOLDER, config / PROMPT_FOLDER.name}
    for path in map(Path, settings.prompt_directories.workspace):
        boundary = path if settings.trusted and path not in usual else workspace
        yield PromptDirectory(path=path, origin="workspace", boundary=boundary, named=path not in usual)
    for path in map(Path, settings.prompt_directories.user):
        yield PromptDirectory(path=path, origin="user", boundary=path, named=path not in usual)
    yield PromptDirectory(path=BUILT_IN_FOLDER, origin="built-in", boundary=BUILT_IN_FOLDER)


def list_prompts(catalog: PromptCatalog, session: Mapping[str, str]) -> list[PromptEntry]:
    """The prompts for a list, without those hidden by another of the same name. `session` has session variables."""
    return [_entry(one, session) for one in catalog.entries() if not one.hidden_by]


def session_values(workspace: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """The session variables of a workspace; none if a file is broken, which running a prompt reports."""
    settings = load_settings(config_folder(environ), workspace)
    try:
        found = load_session_variables(settings.session_variables, workspace, trusted=settings.trusted)
    except InvalidInput:
        return {}
    return found.values


def _entry(found: CatalogEntry, session: Mapping[str, str]) -> PromptEntry:
    if found.prompt is None:
        return PromptEntry(
            name=found.name, description="", origin=found.origin, path=found.path, problem=found.problem
        )
    matter = found.prompt.matter
    return PromptEntry(
        name=found.name,
        description=matter.description,
        origin=found.origin,
        path=found.path,
        tags=matter.tags,
        version=matter.version or "",
        variables=tuple(
            PromptBlank(
                name=one.name,
                description=one.description,
                default=one.default,
                session=session.get(one.name),
            )
            for one in matter.variables
        ),
        model=matter.model or "",
        mode=matter.mode or "",
        output=matter.output,
        budget=str(matter.budget),
        fingerprint=found.prompt.digest,
        warnings=found.prompt.warnings,
    )


def terminal_prompts(catalog: PromptCatalog) -> Iterator[ChatPrompt]:
    """The usable prompts, each with a field for every value that the person has to enter."""
    for entry in catalog.entries():
        if entry.prompt is not None and not entry.hidden_by:
            pieces = entry.prompt.open_pieces()
            text = "".join(one if isinstance(one, str) else blank_mark(one.name) for one in pieces)
            blanks = tuple(
                PromptBlank(name=one.name, description=one.description)
                for one in pieces
                if not isinstance(one, str)
            )
            yield ChatPrompt(entry.name, entry.prompt.description, text, blanks)
