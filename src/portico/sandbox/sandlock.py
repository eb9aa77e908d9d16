"""Sandlock backend: Landlock and a system-call filter, for kernels without user namespaces and for host
lists.

Landlock knows what is allowed, not what is forbidden, so everything beside a hidden path is allowed by name; what
is made there later cannot be read. A supervisor answers for the network, which costs time at every opened file.
"""

import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from portico.sandbox.confinement import Confinement, SandboxUnavailable

NAME = "sandlock"
_LAUNCHER = Path(__file__).with_name("sandlock_launcher.py")
_DEVICES = tuple(
    f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts")
)
_SHARED_MEMORY = Path("/dev/shm")


def wrapper(confinement: Confinement) -> tuple[str, ...]:
    """Words that run what follows them, confined. Unavailable where that cannot be."""
    if sys.platform != "linux":
        raise SandboxUnavailable("sandlock is for Linux")
    if importlib.util.find_spec("sandlock") is None:
        raise SandboxUnavailable("the package sandlock is not installed")
    rules = confinement.rules(unseen=confinement.replaced)
    writable = [str(path) for path, access in rules if access == "writable"]
    hidden = {path for path, access in rules if access == "hidden"} | confinement.replaced
    settings: dict[str, object] = {}
    if confinement.temporary is not None:
        writable.append(str(confinement.temporary))
        settings["env"] = {"TMPDIR": str(confinement.temporary)}
    shown = [str(path) for path, access in rules if access == "readable"]
    # What is allowed as a whole is denied in part, which costs time at every opened file.
    granted = {*writable, *shown}
    denied = [str(path) for path in hidden if any(str(parent) in granted for parent in path.parents)]
    settings["fs_denied"] = denied
    settings["fs_readable"] = [*_beside(hidden), *shown]
    settings["fs_writable"] = [*writable, *_devices(confinement)]
    if confinement.network is None:
        settings |= {"net_allow": ["*:*", "udp://*:*"], "net_allow_bind": ["*"]}
    else:
        settings |= {"net_allow": list(confinement.network)}
    if os.geteuid() == 0:
        # Root could make itself the device of a disk. Named pipes are made by the same calls.
        settings["extra_deny_syscalls"] = ["mknod", "mknodat"]
        settings["fs_denied"] = [*denied, "/proc/kcore"]
    text = msgspec.json.encode(settings).decode()
    return (sys.executable, "-I", str(_LAUNCHER), text)


def _devices(confinement: Confinement) -> Iterator[str]:
    """Devices that exist, and shared memory, unless files with a rule of their own are there."""
    yield from (device for device in _DEVICES if Path(device).exists())
    paths = (*confinement.hidden, *confinement.readable, *confinement.writable)
    if _SHARED_MEMORY.exists() and not any(
        Path(os.path.realpath(path)).is_relative_to(_SHARED_MEMORY) for path in paths
    ):
        yield str(_SHARED_MEMORY)


def _beside(hidden: set[Path]) -> list[str]:
    """The outermost paths that neither are hidden nor have something hidden inside."""
    opened = {parent for path in hidden for parent in path.parents}
    found: list[str] = []
    for folder in opened:
        if any(above in hidden for above in (folder, *folder.parents)):
            continue
        try:
            paths = list(folder.iterdir())
        except OSError:
            continue
        found += [
            str(path) for path in paths if path not in opened and path not in hidden and not path.is_symlink()
        ]
    return found
