"""What nobody foresaw, in words for a person: the log of the program has the rest, and a session goes on."""

import logging

from portico.domain.errors import DeveloperMustAct

log = logging.getLogger(__name__)


def unforeseen(error: Exception, where: str) -> DeveloperMustAct:
    """The failure to tell of. Call it where the error is caught."""
    log.error("%s failed where it should not", where, exc_info=error)
    return DeveloperMustAct(
        f"Portico failed where it should not: {type(error).__name__}: {error}",
        suggestion="Please report this; `portico status` tells where the log with the details is.",
    )
