"""One version of a package that a workspace uses, and where that is written."""

import msgspec


class LockedVersion(msgspec.Struct, frozen=True, kw_only=True):
    """`checksums` are those of the archive, as the lockfile has them: `sha256:…`, `sha512-…` or `h1:…`."""

    version: str
    origin: str
    checksums: tuple[str, ...] = ()
    module: str = ""
    """The module of Go that contains the package asked for, if that is another name."""
