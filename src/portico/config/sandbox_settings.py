"""The setting `sandbox`: level, allowed hosts and writable paths."""

import re
from collections.abc import Mapping
from typing import get_args

import msgspec

from portico.domain import codecs
from portico.domain.errors import InvalidInput
from portico.domain.values import SandboxLevel

LEVEL_VARIABLE = "PORTICO_SANDBOX"
"""Sets the level for one run, overriding the settings."""
_HOST = re.compile(r"[\w.*-]+:(\d{1,5}|\*)")
_RANK: dict[SandboxLevel | None, int] = {None: 0, "none": 0, "workspace": 1, "strict": 2}


class SandboxSetting(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The sandbox of agents. With `required`, an agent that cannot be confined does not start.

    `network` lists hosts that a strict sandbox may reach, as `host:port`; `write` lists files and folders that agents
    may write in any sandbox.
    """

    level: SandboxLevel | None = None
    required: bool = False
    network: tuple[str, ...] = ()
    write: tuple[str, ...] = ()

    def check(self) -> None:
        """Raise InvalidInput for an invalid host."""
        for host in self.network:
            if _HOST.fullmatch(host) is None:
                raise InvalidInput(
                    f"sandbox.network contains {host!r}, which is not a host with a port.",
                    suggestion="Use host:port, as in example.org:443.",
                )

    def at_least(self, other: "SandboxSetting") -> "SandboxSetting":
        """Return the user's setting, tightened but never loosened by a workspace's."""
        stricter = _RANK[other.level] > _RANK[self.level]
        return msgspec.structs.replace(
            self,
            level=other.level if stricter else self.level,
            required=self.required or other.required,
        )


def requested_level(environ: Mapping[str, str]) -> SandboxLevel | None:
    """Return the level set in the environment. Raises InvalidInput for an unknown level."""
    text = environ.get(LEVEL_VARIABLE, "").strip()
    try:
        return codecs.convert(text, SandboxLevel) if text else None
    except msgspec.ValidationError as error:
        raise InvalidInput(
            f'Unknown sandbox level "{text}" in {LEVEL_VARIABLE}.',
            suggestion=f"Available: {', '.join(get_args(SandboxLevel))}.",
        ) from error
