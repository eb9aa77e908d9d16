"""Opens the prompt catalog of a workspace, and offers its prompts to the terminal."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from portico.config.paths import config_folder
from portico.config.settings import PROMPT_FOLDER, Settings, load_settings
from portico.config.window_settings import NO_WINDOW, WindowSettings
from portico.domain.catalog import PromptBlank, PromptEntry
from portico.domain.errors import InvalidInput
from portico.doors.terminal.input.prompt_blanks import ChatPrompt, blank_mark
from portico.prompts.catalog import BUILT_IN_FOLDER, CatalogEntry, PromptCache, PromptCatalog
from portico.prompts.directories import PromptDirectory
from portico.prompts.session_variables import load_session_variables, savable, save_variables


class WorkspacePrompts(msgspec.Struct, frozen=True):
    """The prompts of a workspace, its user and Portico, with the settings that named their directories."""

    workspace: Path
    settings: Settings
    catalog: PromptCatalog


def open_prompts(
    workspace: Path,
    environ: Mapping[str, str],
    cache: PromptCache | None = None,
    window: WindowSettings = NO_WINDOW,
) -> WorkspacePrompts:
    """Open the prompts of a workspace. InvalidInput for broken settings of the user."""
    config = config_folder(environ)
    settings = load_settings(config, workspace, window)
    catalog = PromptCatalog([*prompt_directories(workspace, config, settings)], cache)
    return WorkspacePrompts(workspace, settings, catalog)


def prompt_directories(workspace: Path, config: Path, settings: Settings) -> Iterator[PromptDirectory]:
    """The directories to search, in order. An untrusted workspace can only name its own."""
    usual = {workspace / PROMPT_FOLDER, config / PROMPT_FOLDER.name}
    for path in map(Path, settings.prompt_directories.workspace):
        boundary = path if settings.trusted and path not in usual else workspace
        yield PromptDirectory(path=path, origin="workspace", boundary=boundary, named=path not in usual)
    for path in map(Path, settings.prompt_directories.user):
        yield PromptDirectory(path=path, origin="user", boundary=path, named=path not in usual)
    yield PromptDirectory(path=BUILT_IN_FOLDER, origin="built-in", boundary=BUILT_IN_FOLDER)


def list_prompts(found: Sequence[CatalogEntry], session: Mapping[str, str]) -> list[PromptEntry]:
    """The prompts for a list, without those hidden by another of the same name. `session` has session variables."""
    return [_entry(one, session) for one in found if not one.hidden_by]


def session_values(prompts: WorkspacePrompts) -> dict[str, str]:
    """The session variables of a workspace; none if a file is broken, which running a prompt reports."""
    settings = prompts.settings
    try:
        found = load_session_variables(
            settings.session_variables, prompts.workspace, trusted=settings.trusted
        )
    except InvalidInput:
        return {}
    return found.values


def save_session_values(prompts: WorkspacePrompts, values: Mapping[str, str]) -> Path:
    """Save values in the file that the settings name; return its path. InvalidInput without one, or for a secret."""
    found = load_session_variables(
        prompts.settings.session_variables, prompts.workspace, trusted=prompts.settings.trusted
    )
    if found.path is None:
        raise InvalidInput(
            "The settings name no file for session variables.",
            suggestion="Name one: portico config set sessionVariables variables.json",
        )
    if refused := set(values) - set(savable(values)):
        raise InvalidInput(f"{', '.join(sorted(refused))} cannot be saved as session variables.")
    save_variables(found.path, values)
    return found.path


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
