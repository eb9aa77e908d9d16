"""Values of prompt variables from flags, files and standard input."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from portico.app import prompt_run
from portico.app.prompt_catalog import open_prompts
from portico.app.prompt_run import FilledPrompt
from portico.cli.arguments import CommandParser, require_folder, require_utf8
from portico.config.paths import expand_user_path
from portico.domain.errors import InvalidInput
from portico.doors.terminal.sanitizer import clean_line
from portico.prompts.front_matter import PromptVariable
from portico.prompts.input_file import MARKDOWN, decode_input, read_text_file
from portico.prompts.output_file import without_provenance
from portico.prompts.run_options import INPUT, MAX_INPUT_BYTES, too_large
from portico.prompts.session_variables import read_variables
from portico.sessions.requests.approver import is_interactive


def add_value_flags(parser: CommandParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", nargs="?", help="file with the variable input; - is standard input"
    )
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="value of a variable; may be repeated",
    )
    parser.add_argument(
        "--set-file",
        metavar="KEY=FILE",
        action="append",
        default=[],
        help="file with the value of a variable; may be repeated",
    )
    parser.add_argument("--vars", metavar="FILE", help="file with values: a JSON object, with comments")
    parser.add_argument(
        "--input", metavar="TEXT", help="value of the variable input; - reads it from standard input"
    )


def read_values(flags: argparse.Namespace) -> dict[str, str]:
    """The values of the flags; those of `--vars` come last. InvalidInput for a bad value, or one given twice."""
    values: dict[str, str] = {}
    given = [("--set", *_pair("--set", word)) for word in flags.set]
    given += [("--set-file", *_pair("--set-file", word)) for word in flags.set_file]
    given += [] if flags.input is None else [("--input", INPUT, flags.input)]
    given += [] if flags.file is None else [("FILE", INPUT, flags.file)]
    for flag, key, word in given:
        if key in values:
            raise InvalidInput(f"{key} is given twice.", suggestion="Give each variable once.")
        values[key] = _value(flag, word)
    if flags.vars is not None:
        values = read_variables(expand_user_path(require_utf8(flags.vars, "The name of the file"))) | values
    return values


def fill_prompt(flags: argparse.Namespace, *, asks: bool = False) -> FilledPrompt:
    """Fill in the prompt of the flags, with the session variables of its folder.

    If it `asks`, a person at the terminal is asked for values that are missing.
    """
    name = require_utf8(flags.name, "The name")
    prompts = open_prompts(require_folder(flags.cwd), os.environ)

    def read(needed: Sequence[PromptVariable]) -> dict[str, str]:
        values = read_values(flags)
        missing = [one for one in needed if one.name not in values]
        # A text to work on is a file or is piped in; without one nothing else need be asked.
        if asks and is_interactive() and all(one.name != INPUT for one in missing):
            for variable in missing:
                values[variable.name] = typed = _ask(variable)
                flags.set.append(f"{variable.name}={typed}")
        return values

    return prompt_run.fill_prompt(prompts, name, read)


def _ask(variable: PromptVariable) -> str:
    """The value that a person types in one line. InvalidInput for none."""
    about = f" ({clean_line(variable.description)})" if variable.description else ""
    print(f"{variable.name}{about}: ", end="", file=sys.stderr, flush=True)
    typed = sys.stdin.readline().strip()
    if not typed:
        raise InvalidInput(
            f"{variable.name} needs a value.", suggestion=f"Example: --set {variable.name}=VALUE"
        )
    return typed


def typed_values(flags: argparse.Namespace) -> dict[str, str]:
    """The values that were typed with --set."""
    return dict(_pair("--set", word) for word in flags.set)


def _pair(flag: str, word: str) -> tuple[str, str]:
    key, equals, value = require_utf8(word, f"The value of {flag}").partition("=")
    if not key or not equals:
        what = "VALUE" if flag == "--set" else "FILE"
        raise InvalidInput(
            f"{flag} {word} is not KEY={what}.", suggestion=f"Example: {flag} input={what.lower()}"
        )
    return key, value


def _value(flag: str, word: str) -> str:
    if flag in ("FILE", "--input") and word == "-":
        return decode_input(_piped(), "Standard input")
    if flag == "FILE":
        text = read_text_file(expand_user_path(word), word)
        return without_provenance(text) if Path(word).suffix.lower() in MARKDOWN else text
    if flag == "--set-file":
        return read_text_file(expand_user_path(word), word)
    return require_utf8(word, f"The value of {flag}")


def _piped() -> bytes:
    data = sys.stdin.buffer.read(MAX_INPUT_BYTES + 1)
    if len(data) > MAX_INPUT_BYTES:
        raise too_large("Standard input")
    return data
