"""The real offline model for a test: fetched once for all, and put where the test's Portico looks for it."""

from collections.abc import Mapping

from portico.porter.models.offline.model_files import DEFAULT, is_ready, location
from scripts.fetch_offline_model import offline_model


def have_offline_model(environ: Mapping[str, str]) -> None:
    """As if `portico models pull` had been called. Not for use inside an event loop."""
    target = location(DEFAULT, environ)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.symlink_to(offline_model())
    assert is_ready(DEFAULT, environ)
