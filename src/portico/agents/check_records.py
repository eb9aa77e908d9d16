"""Results of `portico agents check`, kept beside the agents: what an agent can do, and which rules it broke."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from portico.config.paths import state_folder
from portico.domain import codecs
from portico.files.private import make_private_folder, replace_private


class CheckRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A check of an agent as it was started then. `broken` has the ids of mandatory rules, if these were tried."""

    name: str
    command: tuple[str, ...]
    version: str
    checked_at: int
    ready: bool
    capabilities: tuple[str, ...] = ()
    kept: int | None = None
    broken: tuple[str, ...] = ()
    stamp: float = 0.0
    """When the program was last changed."""

    def is_current(self, command: tuple[str, ...]) -> bool:
        """Whether the agent is still the program that was checked."""
        return command == self.command and program_stamp(command) == self.stamp


def program_stamp(command: tuple[str, ...]) -> float:
    """When the program of a command was last changed; a package that was updated has new files."""
    try:
        return Path(command[0]).resolve().stat().st_mtime
    except (OSError, IndexError):
        return 0.0


def keep_record(record: CheckRecord, environ: Mapping[str, str]) -> None:
    file = _file(record.name, environ)
    make_private_folder(file.parent)
    replace_private(file, msgspec.json.encode(record))


def find_record(name: str, environ: Mapping[str, str]) -> CheckRecord | None:
    """The last check of an agent, if there was one that can be read."""
    try:
        return codecs.decode_json(_file(name, environ).read_bytes(), CheckRecord)
    except (OSError, msgspec.DecodeError, msgspec.ValidationError):
        return None


def _file(name: str, environ: Mapping[str, str]) -> Path:
    # The name may be that of any agent in the settings.
    safe = name.encode().hex()
    return state_folder(environ) / "agent-checks" / f"{safe}.json"
