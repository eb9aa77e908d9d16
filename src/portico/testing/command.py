"""Command line that starts the scripted agent, and the reader of its transcript."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypedDict

import msgspec

from portico.testing.agent.script import ScriptError, check_script

# What Linux takes as one argument of a program, with room to spare.
LONGEST_ARGUMENT = 100_000

Step = dict[str, Any]


class Script(TypedDict, total=False):
    """A script, key by key. docs/testing.md has the verbs of its steps."""

    protocol_version: int
    capabilities: dict[str, Any]
    auth_methods: list[dict[str, Any]]
    auth_required: bool
    modes: list[str | dict[str, Any]]
    config_options: list[dict[str, Any]]
    page_size: int
    reopens_unknown: bool
    on_initialize: list[Step]
    on_authenticate: list[Step]
    on_logout: list[Step]
    on_new: list[Step]
    on_load: list[Step]
    on_resume: list[Step]
    on_fork: list[Step]
    on_list: list[Step]
    on_close: list[Step]
    on_delete: list[Step]
    on_set_mode: list[Step]
    on_set_config_option: list[Step]
    on_prompt: list[list[Step]]
    on_cancel: list[Step]


class TranscriptLine(msgspec.Struct, frozen=True):
    """One line as the agent saw it; `received` came from the client."""

    direction: Literal["received", "sent"]
    line: bytes

    @property
    def message(self) -> dict[str, Any]:
        """The line as a JSON object; ValueError if it is none."""
        parsed = json.loads(self.line)
        if not isinstance(parsed, dict):
            raise ValueError(f"not an object: {self.line[:200]!r}")  # noqa: TRY004  Like any other line that is none.
        return parsed


def scripted_agent_command(
    script: Script | Mapping[str, Any] | None = None,
    *,
    state: Path | None = None,
    transcript: Path | None = None,
) -> tuple[str, ...]:
    """The command line of an agent that follows a script; without one, its prompts tell it what to do.

    `state` is the folder where it keeps sessions for a later process, `transcript` the file that gets every line.
    ScriptError if the script has a mistake.
    """
    # -P: a workspace that is the working folder must not lend the agent its modules.
    command = [sys.executable, "-P", "-m", "portico.testing.agent"]
    if script is not None:
        check_script(script)
        steps = json.dumps(script)
        if len(steps) > LONGEST_ARGUMENT:
            raise ScriptError(f"{len(steps)} bytes are too long for a command line; use --script with a file")
        command += ["--steps", steps]
    if state is not None:
        command += ["--state", str(state)]
    if transcript is not None:
        command += ["--transcript", str(transcript)]
    return tuple(command)


def read_transcript(path: Path) -> list[TranscriptLine]:
    """Every line that went in or out, in that order; none if the agent never started."""
    if not path.exists():
        return []
    records = (json.loads(record) for record in path.read_bytes().split(b"\n") if record)
    return [
        TranscriptLine(record["direction"], record["line"].encode("utf-8", "surrogateescape"))
        for record in records
    ]
