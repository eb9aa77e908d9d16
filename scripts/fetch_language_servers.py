"""Fetch the language servers that the tests ask, once: they are kept inside the environment this runs in."""

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from portico.editors.language_servers.catalog import server_catalog
from portico.editors.language_servers.installation import install
from portico.editors.language_servers.programs import installation_folder

NAMES = (
    "basedpyright",
    "typescript-language-server",
    "clangd",
    "bash-language-server",
    "yaml-language-server",
)


def server_folders() -> dict[str, Path]:
    """The folders of the servers, by name."""
    return {
        spec.name: installation_folder(spec, _environ()) for spec in server_catalog({}) if spec.name in NAMES
    }


def program_folders() -> list[Path]:
    """The folders that the programs of the servers are in."""
    places = (
        folder / inner for folder in server_folders().values() for inner in ("bin", "node_modules/.bin")
    )
    return [place for place in places if place.is_dir()]


async def fetch() -> None:
    for spec in server_catalog({}):
        if spec.name in NAMES:
            await install(spec, _environ(), lambda _: None)


def _environ() -> Mapping[str, str]:
    # The pins of this project are not meant for them.
    kept = {name: value for name, value in os.environ.items() if "CONSTRAINT" not in name}
    return {**kept, "PORTICO_HOME": str(Path(sys.prefix) / "share" / "portico-language-servers")}


if __name__ == "__main__":
    asyncio.run(fetch())
