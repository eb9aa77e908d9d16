"""Argument parser and argument types of all commands; mistakes are InvalidInput with exit code 5."""

import argparse
import os
from pathlib import Path
from typing import NoReturn

from portico.config.paths import expand_user_path
from portico.domain.errors import InvalidInput


class CommandParser(argparse.ArgumentParser):
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


def refuse(command: str, word: str | None) -> None:
    """InvalidInput for a word after a command that would do nothing with it."""
    if word is not None:
        raise InvalidInput(
            f"{command} does not take {word}.", suggestion=f"See {command.rsplit(' ', 1)[0]} --help"
        )


def add_trace_flag(parser: CommandParser) -> None:
    parser.add_argument(
        "--trace", metavar="FILE", help="write every frame there, for portico trace show and replay"
    )


def add_proxy_flag(parser: CommandParser) -> None:
    parser.add_argument(
        "--proxy",
        metavar="NAME",
        action="append",
        default=[],
        help="proxy to add to the chain: a name under proxies in the settings, or of a trusted package; repeatable",
    )


def trace_path(flags: argparse.Namespace) -> Path | None:
    """The file that `--trace` names."""
    return None if flags.trace is None else Path(require_utf8(flags.trace, "The name of the trace"))


def require_utf8(text: str, what: str) -> str:
    """A word of the command line, if it is text: bytes that are not UTF-8 come in as halves of characters."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{what} is not UTF-8 (character {error.start + 1}).") from error
    return text


def require_folder(text: str) -> Path:
    """The folder that --cwd names, in full. InvalidInput for one that is none, or not to be entered."""
    folder, hint = expand_user_path(text), "Give --cwd a folder that you may enter."
    try:
        is_folder = folder.is_dir()
    except OSError as error:
        raise InvalidInput(f"{text} cannot be used: {error.strerror}.", suggestion=hint) from error
    if not is_folder:
        raise InvalidInput(f"{text} is not a folder.", suggestion="Give --cwd a folder that exists.")
    if not os.access(folder, os.R_OK | os.X_OK):
        raise InvalidInput(f"{text} cannot be used: you may not look into it.", suggestion=hint)
    return Path(require_utf8(str(folder.resolve()), "The name of the folder"))


def real_folder(text: str) -> Path:
    """A folder that may be gone by now, by the one name that sessions know it by."""
    # Unlike Path.resolve, this also has a name for a loop of links.
    return Path(require_utf8(os.path.realpath(expand_user_path(text)), "The name of the folder"))


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
