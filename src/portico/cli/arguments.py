"""Command-line arguments: argparse whose mistakes are ours, one helpful line and exit code 5."""

import argparse
from typing import NoReturn

from portico.domain.errors import InvalidInput


class Arguments(argparse.ArgumentParser):
    def __init__(self, command: str, description: str) -> None:
        super().__init__(
            prog=f"portico {command}",
            description=description,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self.add_argument("--api", action="store_true", help="print one JSON object, for programs")

    def error(self, message: str) -> NoReturn:
        raise InvalidInput(f"{self.prog}: {message}", suggestion=f"See {self.prog} --help")


def add_trace_flag(parser: Arguments) -> None:
    parser.add_argument(
        "--trace", metavar="FILE", help="write every frame there, for portico trace show and replay"
    )


def proper_text(text: str, what: str) -> str:
    """A word of the command line, if it is text: bytes that are not UTF-8 come in as halves of characters."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{what} is not UTF-8 (character {error.start + 1}).") from error
    return text


def seconds(text: str) -> float:
    """A positive number of seconds."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    return value


def positive(text: str) -> int:
    """A whole number above zero."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above zero")
    return value
