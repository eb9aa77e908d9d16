"""Settings of language servers: other programs, other languages, other limits."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta


class LanguageServerSetting(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """One server: a known one with changes, or another, which needs a command and extensions.

    `extensions` are language ids by file extension, such as {".zig": "zig"}.
    """

    enabled: bool = True
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    extensions: dict[str, str] = {}
    settings: dict[str, Any] = {}
    initialization_options: dict[str, Any] = {}
    memory_mb: Annotated[int, Meta(ge=64)] | None = None
