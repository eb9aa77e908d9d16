"""The setting `sandbox`: level, allowed hosts and writable paths."""

import re
from collections.abc import Mapping
from typing import get_args

import msgspec

from portico.domain import codecs
from portico.domain.errors import InvalidInput
from portico.domain.values import SandboxLevel

LEVEL_VARIABLE = "PORTICO_SANDBOX"
"""The level for one run, before the settings."""
_HOST = re.compile(r"[\w.*-]+:(\d{1,5}|\*)")
_RANK: dict[SandboxLevel | None, int] = {None: 0, "none": 0, "workspace": 1, "strict": 2}


class SandboxSetting(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """With `required`, no agent starts that cannot be confined.

    `network` has hosts that a strict sandbox may reach, as `host:port`; `write` has files and folders that agents
    may write in any sandbox.
    """

    level: SandboxLevel | None = None
    required: bool = False
    network: tuple[str, ...] = ()
    write: tuple[str, ...] = ()

    def check(self) -> None:
        """InvalidInput for a host that no sandbox understands."""
        for host in self.network:
            if _HOST.fullmatch(host) is None:
                raise InvalidInput(
                    f"sandbox.network has {host!r}, which names no host with a port.",
                    suggestion="Write it as host:port, as in example.org:443.",
                )

    def at_least(self, other: "SandboxSetting") -> "SandboxSetting":
        """This setting of the user's, as far as a workspace asks for more confinement, and never for less."""
        stricter = _RANK[other.level] > _RANK[self.level]
        return msgspec.structs.replace(
            self,
            level=other.level if stricter else self.level,
            required=self.required or other.required,
        )


def requested_level(environ: Mapping[str, str]) -> SandboxLevel | None:
    """The level that the environment asks for. InvalidInput for one that there is not."""
    text = environ.get(LEVEL_VARIABLE, "").strip()
    try:
        return codecs.convert(text, SandboxLevel) if text else None
    except msgspec.ValidationError as error:
        raise InvalidInput(
            f"{LEVEL_VARIABLE} is {text!r}, which is no level of a sandbox.",
            suggestion=f"Levels: {', '.join(get_args(SandboxLevel))}.",
        ) from error
