"""Keeps the search index current while a server runs, so that a search finds everything at once."""

import logging

from portico.domain.errors import PorticoError
from portico.sessions.ports import Clock, Store

log = logging.getLogger(__name__)

LOOK_SECONDS = 15.0
_STEP_SECONDS = 0.1
_PAUSE_SECONDS = 0.1
"""Between two steps, so that indexing an old log leaves the machine to other work."""


async def keep_index_current(store: Store, clock: Clock) -> None:
    """Index what is new from time to time, until cancelled."""
    generation = None
    while True:
        await clock.sleep(LOOK_SECONDS)
        try:
            seen = await store.generation()
            if seen == generation:
                continue
            while await store.index_for_search(seconds=_STEP_SECONDS):
                await clock.sleep(_PAUSE_SECONDS)
            generation = seen
        except PorticoError as error:
            log.warning("the log was not indexed for the search: %s", error.message)
