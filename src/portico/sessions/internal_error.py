"""Wraps an unexpected exception as an internal error and logs its traceback."""

import logging

from portico.domain.errors import DeveloperMustAct

log = logging.getLogger(__name__)


def internal_error(error: Exception, where: str) -> DeveloperMustAct:
    """Log an unexpected exception, and return the error to report. Call it where the exception is caught."""
    log.error("internal error in %s", where, exc_info=error)
    return DeveloperMustAct(
        f"Internal error: {type(error).__name__}: {error}",
        suggestion="Please report this. `portico status` shows where the log with the details is.",
    )
