"""Argument parser and argument types of all commands; mistakes are InvalidInput with exit code 5."""

import argparse
import os
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import msgspec

from portico.config.paths import expand_user_path
from portico.domain.errors import InvalidInput

if TYPE_CHECKING:
    from portico.chains.component_registry import ComponentSwitches

_UNITS = {"m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000}


class CommandParser(argparse.ArgumentParser):
    """Parser of one command. `hint` is the suggestion for a missing argument."""

    def __init__(self, command: str, description: str, *, hint: str | None = None) -> None:
        super().__init__(
            prog=f"portico {command}",
            description=description,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self._hint = hint
        self.add_argument("--api", action="store_true", help="print one JSON object, for programs")

    def parse(self, arguments: Sequence[str], *, intermixed: bool = False) -> argparse.Namespace:
        """Parse all arguments. With `intermixed`, flags may stand between positional arguments."""
        words = list(arguments)
        flags, unknown = (self.parse_known_intermixed_args if intermixed else self.parse_known_args)(words)
        if unknown:
            raise InvalidInput(f"{self.prog} does not take {unknown[0]}.", suggestion=self._see_help())
        return flags

    def takes_value(self, flag: str) -> bool:
        """Whether the word after this flag is its value."""
        action = self._option_string_actions.get(flag)
        return action is not None and action.nargs != 0

    def error(self, message: str) -> NoReturn:
        missing = message.removeprefix("the following arguments are required: ")
        if missing != message:
            raise InvalidInput(f"{self.prog} needs {missing}.", suggestion=self._hint or self._see_help())
        raise InvalidInput(f"{self.prog}: {message}", suggestion=self._see_help())

    def _see_help(self) -> str:
        return f"See {self.prog} --help"


RunAction = Callable[[argparse.Namespace], int]


class CommandGroup:
    """A command with actions, each with flags and help of its own, as in `portico sessions list`."""

    def __init__(self, command: str, description: str, *, examples: str = "") -> None:
        self._command = command
        self._description = description
        self._examples = examples
        self._actions: dict[str, tuple[CommandParser, RunAction, str]] = {}

    def add(self, name: str, summary: str, run: RunAction, *, hint: str | None = None) -> CommandParser:
        """Add an action. `hint` is the suggestion for a missing argument."""
        parser = CommandParser(f"{self._command} {name}", f"{summary[:1].upper()}{summary[1:]}.", hint=hint)
        self._actions[name] = parser, run, summary
        return parser

    def run(self, arguments: Sequence[str]) -> int:
        flags = self.parse(arguments)
        return self._actions[flags.action][1](flags)

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Parse the arguments of one action, whose name is in `action`. Flags may stand before the name."""
        words = list(arguments)
        position = self._find_action(words)
        if position is None:
            if {"-h", "--help"} & set(words):
                self._overview().parse(["--help"])
            available = ", ".join(self._actions)
            raise InvalidInput(
                f"portico {self._command} needs an action. Available: {available}.",
                suggestion=f"See portico {self._command} --help",
            )
        name = words.pop(position)
        if name not in self._actions:
            raise InvalidInput(
                f'Unknown action "{name}". Available: {", ".join(self._actions)}.',
                suggestion=f"See portico {self._command} --help",
            )
        flags = self._actions[name][0].parse(words, intermixed=True)
        flags.action = name
        return flags

    def _find_action(self, words: Sequence[str]) -> int | None:
        skip = False
        for position, word in enumerate(words):
            if skip:
                skip = False
            elif not word.startswith("-"):
                return position
            else:
                skip = any(parser.takes_value(word) for parser, _, _ in self._actions.values())
        return None

    def _overview(self) -> CommandParser:
        width = max(map(len, self._actions))
        listed = "\n".join(f"  {name:<{width}}  {summary}" for name, (_, _, summary) in self._actions.items())
        parser = CommandParser(self._command, f"{self._description}\n\nactions:\n{listed}")
        parser.usage = f"portico {self._command} ACTION [--api] …"
        parser.epilog = f"{self._examples}portico {self._command} ACTION --help shows the flags of an action."
        return parser


def print_json(**values: object) -> None:
    """Print the object that `--api` promises; its status is "ok" unless given."""
    print(msgspec.json.encode({"status": "ok", **values}).decode())


def by_prefix(names: Iterable[str], prefix: str, what: str, *, hint: str) -> str:
    """The one name that is `prefix` or begins with it. InvalidInput if there is none, or several."""
    names = list(names)
    found = [name for name in names if name == prefix] or [
        name for name in names if prefix and name.startswith(prefix)
    ]
    if len(found) != 1:
        problem = f'Several {what}s begin with "{prefix}".' if found else f'Unknown {what} "{prefix}".'
        raise InvalidInput(problem, suggestion=hint)
    return found[0]


def add_trace_flag(parser: CommandParser) -> None:
    parser.add_argument(
        "--trace", metavar="FILE", help="file to record every frame in, for portico trace show and replay"
    )


def add_chain_flags(parser: CommandParser) -> None:
    parser.add_argument(
        "--proxy",
        metavar="NAME",
        action="append",
        default=[],
        help="proxy to add to the chain: a name under proxies in the settings, or of a trusted package; repeatable",
    )
    add_component_flags(parser)


def add_component_flags(parser: CommandParser) -> None:
    parser.add_argument(
        "--component",
        metavar="NAME",
        action="append",
        default=[],
        help="component to switch on (see portico components list); repeatable",
    )
    parser.add_argument(
        "--no-component",
        metavar="NAME",
        action="append",
        default=[],
        help="component to switch off; repeatable",
    )


def component_switches(flags: argparse.Namespace) -> "ComponentSwitches":
    """The components that the flags switch on and off."""
    # Late: commands without a chain do not need it.
    from portico.chains.component_registry import ComponentSwitches

    return ComponentSwitches(on=tuple(flags.component), off=tuple(flags.no_component))


def trace_path(flags: argparse.Namespace) -> Path | None:
    """The file named by `--trace`."""
    return None if flags.trace is None else Path(require_utf8(flags.trace, "The name of the trace"))


def require_utf8(text: str, what: str) -> str:
    """An argument that is valid text; Python turns bytes that are not UTF-8 into lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{what} is not UTF-8 (character {error.start + 1}).") from error
    return text


def require_folder(text: str) -> Path:
    """The absolute path of the folder named by --cwd. InvalidInput unless it is a folder that can be read."""
    folder, hint = expand_user_path(text), "Give --cwd a folder that you can read."
    try:
        is_folder = folder.is_dir()
    except OSError as error:
        raise InvalidInput(f"{text} cannot be used: {error.strerror}.", suggestion=hint) from error
    if not is_folder:
        raise InvalidInput(f"{text} is not a folder.", suggestion="Give --cwd a folder that exists.")
    if not os.access(folder, os.R_OK | os.X_OK):
        raise InvalidInput(f"{text} cannot be used: permission denied.", suggestion=hint)
    return Path(require_utf8(str(folder.resolve()), "The name of the folder"))


def real_folder(text: str) -> Path:
    """The real path of a folder, which sessions are listed by. The folder need not exist any more."""
    # Unlike Path.resolve, this does not fail on a loop of links.
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


def read_since(text: str, now_ms: int) -> int:
    """The time that `--since` names, a date or an age, in milliseconds since 1970."""
    if age := re.fullmatch(r"(\d{1,6})([mhdw])", text):
        return now_ms - int(age[1]) * _UNITS[age[2]]
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidInput(
            f"--since {text} is neither a date nor an age.", suggestion="Examples: 2026-11-17, 3h, 7d, 2w"
        ) from error
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
