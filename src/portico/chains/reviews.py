"""Opens the reviews of the user: the state folder, with the protection rules of the settings."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from portico.config.paths import config_folder, state_folder
from portico.config.settings import linked_folders, load_settings
from portico.domain.errors import InvalidInput
from portico.files.private import make_private_folder
from portico.review.proposals.protection import Protection
from portico.review.service import ReviewService
from portico.sessions.ports import Clock
from portico.sessions.windows import Windows


def open_reviews(environ: Mapping[str, str], clock: Clock, windows: Windows | None = None) -> ReviewService:
    """The reviews of all sessions, wherever they began. `windows` are attached editors."""

    def protect(workspace: Path) -> Protection:
        settings = load_settings(config_folder(environ), workspace)
        review = settings.review
        return Protection(allow=review.allow, deny=review.deny, run_filters=settings.trusted)

    ours = state_folder(environ)
    with suppress(OSError):  # reported by the first write
        make_private_folder(ours / "review")
    return ReviewService.at(
        ours / "review",
        environ,
        clock,
        ours=ours,
        protect=protect,
        linked=_linked(environ),
        windows=windows,
    )


def _linked(environ: Mapping[str, str]) -> tuple[str, ...]:
    try:
        return linked_folders(config_folder(environ))
    except InvalidInput:
        return ()  # reported by whatever reads the settings next
