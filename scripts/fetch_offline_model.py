"""Fetch the offline model for the tests, once: it is kept inside the environment this runs in."""

import asyncio
import os
import sys
from pathlib import Path

from portico.porter.models.offline.download import pull_model
from portico.porter.models.offline.model_files import DEFAULT


def offline_home() -> Path:
    """The home under which the model is kept."""
    return Path(sys.prefix) / "share" / "portico-offline"


def offline_model() -> Path:
    """The file of the model; it is fetched if it is not there yet."""
    # The pins of this project are not meant for it.
    environ = {name: value for name, value in os.environ.items() if "CONSTRAINT" not in name}
    return asyncio.run(pull_model(DEFAULT, {**environ, "PORTICO_HOME": str(offline_home())}, lambda _: None))


if __name__ == "__main__":
    offline_model()
