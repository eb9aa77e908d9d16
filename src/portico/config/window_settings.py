"""Settings of an editor window, sent with each of its calls, so that one window never decides for another."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import msgspec

from portico.config.model_settings import MODEL_VARIABLE, Allowance, budget_variable
from portico.config.sandbox_settings import LEVEL_VARIABLE
from portico.domain import codecs
from portico.domain.errors import InvalidInput
from portico.domain.reviews import ReviewMode
from portico.domain.values import SandboxLevel

if TYPE_CHECKING:
    from portico.config.settings import Settings

WINDOW_HEADER = "portico-settings"
"""The header of a call that has them, as JSON."""


class FolderChoices(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Choices of a folder's settings in the editor. Paths are relative to the folder."""

    agent: str | None = None
    prompt_directories: tuple[str, ...] | None = None
    session_variables: str | None = None


class UserChoices(FolderChoices, frozen=True, kw_only=True, rename="camel"):
    """Choices of the user's settings in the editor. Paths are relative to the user's configuration folder."""

    model: str | None = None
    review_mode: ReviewMode | None = None
    max_cost_usd: Annotated[float, msgspec.Meta(ge=0)] | None = None
    components: dict[str, bool] = {}
    sandbox: SandboxLevel | None = None


class WindowSettings(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The settings of a window. Its editor lets a folder choose only what belongs to the project."""

    user: UserChoices = UserChoices()
    workspace: FolderChoices = FolderChoices()


NO_WINDOW = WindowSettings()


def parse_window_settings(text: str) -> WindowSettings:
    """Parse the header of a call; an empty one has no settings. Raises InvalidInput."""
    try:
        return codecs.decode_json(text.encode("latin-1"), WindowSettings) if text else NO_WINDOW
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise InvalidInput(f"The settings of the editor window are invalid: {error}") from error


def chosen_variables(
    window: WindowSettings, settings: "Settings", environ: Mapping[str, str]
) -> dict[str, str]:
    """Return the variables that hand a window's choices to an agent. The environment comes before them.

    `settings` are those with the window's, so that a workspace has lowered what it may lower.
    """
    chosen: dict[str, str] = {}
    if window.user.model is not None and settings.model:
        chosen[MODEL_VARIABLE] = settings.model
    if window.user.max_cost_usd is not None:
        allowed = Allowance(dollars=settings.max_cost_usd, tokens=settings.budgets.turn.tokens)
        chosen[budget_variable("turn")] = str(allowed)
    if window.user.sandbox is not None and settings.sandbox.level is not None:
        chosen[LEVEL_VARIABLE] = settings.sandbox.level
    return {name: value for name, value in chosen.items() if not environ.get(name)}
