"""The event log that the environment chooses: a file of this machine, or a database that a team shares."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from portico.config.paths import state_folder
from portico.domain.errors import InvalidInput
from portico.domain.provider_keys import STORE_VARIABLE
from portico.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from portico.store.postgres.store import PostgresStore

NODE_VARIABLE = "PORTICO_NODE"
"""The name of a server as a node of a team."""
LEASE_VARIABLE = "PORTICO_LEASE_SECONDS"
"""After how many seconds the sessions of a silent process can be taken over."""
_DATABASE = ("postgresql://", "postgres://")


def chosen_log(environ: Mapping[str, str]) -> "SqliteStore | PostgresStore":
    """The log of this user, not opened yet."""
    return event_log(environ.get(STORE_VARIABLE) or str(state_folder(environ)), environ)


def event_log(place: str, environ: Mapping[str, str]) -> "SqliteStore | PostgresStore":
    """The log in a folder or in a database, by its address, not opened yet."""
    if not place.startswith(_DATABASE):
        if "://" in place:
            raise InvalidInput(
                f"Unknown kind of store: {place.partition('://')[0]}.",
                suggestion=f"Set {STORE_VARIABLE} to postgresql://USER@HOST/DATABASE, or unset it.",
            )
        return SqliteStore(Path(place).expanduser())
    try:
        from portico.store.postgres.store import LEASE_SECONDS, PostgresStore
    except ImportError as error:
        raise InvalidInput(
            f"A log in PostgreSQL needs the package psycopg, which cannot be imported: {error}",
            suggestion="Install it with: pip install 'portico[team]'",
        ) from error
    seconds = environ.get(LEASE_VARIABLE) or LEASE_SECONDS
    return PostgresStore(
        place, state_folder(environ), lease_seconds=float(seconds), node=environ.get(NODE_VARIABLE, "")
    )
