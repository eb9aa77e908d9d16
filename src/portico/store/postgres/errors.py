"""Translates errors of psycopg into StoreFailed, with what to do."""

import psycopg
from psycopg import errors

from portico.domain.errors import StoreFailed

_RETRIED = (errors.SerializationFailure, errors.DeadlockDetected)


def is_conflict(error: psycopg.Error) -> bool:
    """Whether the database ended a transaction because of another one, so that it can simply be run again."""
    return isinstance(error, _RETRIED)


def is_lost(error: psycopg.Error) -> bool:
    """Whether the connection was lost, or the server shuts down, starts, or hands over to another one."""
    return (
        isinstance(
            error,
            (
                errors.AdminShutdown,
                errors.CrashShutdown,
                errors.CannotConnectNow,
                errors.IdleInTransactionSessionTimeout,
                # A standby that was the primary until now.
                errors.ReadOnlySqlTransaction,
            ),
        )
        or (isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError)) and error.sqlstate is None)
        or (error.sqlstate or "").startswith("08")
    )


def database_failure(error: psycopg.Error) -> StoreFailed:
    """The StoreFailed for an error of the database, which becomes its cause."""
    said = str(error).strip().splitlines()
    reason = said[0] if said else type(error).__name__
    failure = StoreFailed(f"The database could not be used: {reason}", suggestion=_suggestion(error))
    failure.__cause__ = error
    return failure


def _suggestion(error: psycopg.Error) -> str:
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return "The database takes no writes. Name the primary server in PORTICO_STORE, or wait for the failover."
    if isinstance(error, (errors.DiskFull, errors.OutOfMemory, errors.TooManyConnections)):
        return "The database server has no resources left; ask its administrator."
    if isinstance(error, (errors.InvalidPassword, errors.InvalidAuthorizationSpecification)):
        return "Check the user and password in PORTICO_STORE, or in your .pgpass file."
    if is_lost(error):
        return "Check that the database server runs and that PORTICO_STORE names it, then try again."
    return "Run `portico doctor` and report its output."
