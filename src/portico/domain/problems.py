"""Problems of files, and those that a change added or removed."""

from portico.domain.values import Value
from portico.domain.windows import Severity


class Problem(Value, frozen=True):
    """A problem of a file; `line` counts from 1."""

    line: int
    severity: Severity
    message: str
    source: str = ""


class FileProblems(Value, frozen=True):
    """The problems that a change added to a file and removed from it, at most 50 of each."""

    path: str
    added: tuple[Problem, ...] = ()
    removed: tuple[Problem, ...] = ()
