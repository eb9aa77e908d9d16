"""Failures of the packages component, written for the model or the person who asked for a package.

InvalidInput
├── PackageNotFound     no such package or version, or none with sources
└── PackageRefused      an archive that is unsafe, too large, or not what its checksum says
PeerFailed
└── RegistryFailed      a registry or its client that cannot be reached, is slow, or breaks off
"""

from portico.domain.errors import ErrorCode, InvalidInput, PeerFailed


class PackageNotFound(InvalidInput):
    """There is no such package or version, or it has no sources."""


class PackageRefused(InvalidInput):
    """The archive is unsafe, too large, or differs from its checksum. Nothing of it was kept."""


class RegistryFailed(PeerFailed):
    """The registry, or the program that talks to it, did not deliver."""

    code = ErrorCode.NETWORK_TIMEOUT


class ResearchFailed(PeerFailed):
    """A research session ended without findings."""
