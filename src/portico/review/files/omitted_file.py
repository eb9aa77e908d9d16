"""A file that a checkpoint or a working copy does not have, and why."""

import msgspec


class OmittedFile(msgspec.Struct, frozen=True):
    """Path of a file that was left out, with the reason."""

    path: str
    reason: str
