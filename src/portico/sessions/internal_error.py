"""Wraps an unexpected exception as an internal error and logs its traceback."""

import logging

from portico.domain.errors import DeveloperMustAct

log = logging.getLogger(__name__)


def internal_error(error: Exception, where: str) -> DeveloperMustAct:
    """The failure to tell of. Call it where the error is caught."""
    log.error("%s failed where it should not", where, exc_info=error)
    return DeveloperMustAct(
        f"Portico failed where it should not: {type(error).__name__}: {error}",
        suggestion="Please report this; `portico status` tells where the log with the details is.",
    )
