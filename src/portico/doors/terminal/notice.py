"""Notices on standard error, beside the output of a command."""

import logging
import sys

from portico.domain.events import Notice
from portico.doors.terminal.sanitizer import clean

log = logging.getLogger("portico")


def print_notice(notice: Notice) -> None:
    """Report something that happened before the command, to the person and in the program's log."""
    log.warning("%s %s", notice.text, notice.details or "")
    print(f"portico: {clean(notice.text)}", file=sys.stderr)
    if notice.details:
        print(clean(indented(notice.details)), file=sys.stderr)


def indented(text: str) -> str:
    """The last lines of a text, indented."""
    return "\n".join(f"    {line}" for line in text.splitlines()[-12:])
