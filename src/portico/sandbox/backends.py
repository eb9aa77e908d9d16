"""Finds a sandbox backend that works on this machine by probing each one.

A child attempts what it must not be able to do. A backend that lets it, or that cannot run it at all, is not
used. Each is tried once in a process, and only when a sandbox is wanted.
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from portico.sandbox import bubblewrap, sandlock, seatbelt
from portico.sandbox.confinement import Confinement, SandboxUnavailable

_SECONDS = 20
_FORBIDDEN = r"""
( : >"$1/real/new" ) 2>/dev/null && exit 11
( read -r _ <"$1/hidden/secret" ) 2>/dev/null && exit 12
( : >"$1/work/new" ) || exit 13
kill -0 "$2" 2>/dev/null && exit 14
if [ "$3" ]; then
  "$4" -I -S -c 'import socket, sys
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=5)
except OSError:
    sys.exit(17)
sys.exit(15)' "$3"
  case $? in 15) exit 15;; 17) ;; *) exit 16;; esac
fi
exit 0
"""
_DONE = {
    11: "a confined program could write a forbidden file",
    12: "a confined program could read a hidden file",
    13: "a confined program could not write its own folder",
    14: "a confined program could signal a process outside",
    15: "a confined program could connect to a forbidden address",
    16: f"the network could not be tried, because {sys.executable} does not run as a confined program",
}


class SandboxBackend(NamedTuple):
    name: str
    wrapper: Callable[[Confinement], tuple[str, ...]]


# Bubblewrap first: it starts in milliseconds, hides instead of refusing, and costs a running program nothing.
BACKENDS: tuple[SandboxBackend, ...] = (
    SandboxBackend(bubblewrap.NAME, bubblewrap.wrapper),
    SandboxBackend(sandlock.NAME, sandlock.wrapper),
    SandboxBackend(seatbelt.NAME, seatbelt.wrapper),
)


def find_backend(confinement: Confinement) -> SandboxBackend:
    """The first backend that can confine a program so. Unavailable names what stands in the way of each. Blocks."""
    reasons = []
    for backend in BACKENDS:
        problem = _misfit(backend, confinement) or probe_backend(
            backend, offline=confinement.network is not None
        )
        if problem is None:
            return backend
        reasons.append(f"{backend.name}: {problem}")
    raise SandboxUnavailable("; ".join(reasons))


def _misfit(backend: SandboxBackend, confinement: Confinement) -> str | None:
    try:
        backend.wrapper(confinement)
    except SandboxUnavailable as error:
        return str(error)
    return None


@cache
def probe_backend(backend: SandboxBackend, *, offline: bool) -> str | None:
    """The reason why a backend does not confine programs here; None if it does. Blocks."""
    folder = Path(tempfile.mkdtemp(prefix="portico-sandbox-"))
    try:
        return _tried(backend, Path(os.path.realpath(folder)), offline=offline)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _tried(backend: SandboxBackend, folder: Path, *, offline: bool) -> str | None:
    for name in ("real", "hidden", "work", "tmp"):
        (folder / name).mkdir()
    (folder / "hidden" / "secret").write_text("secret\n")
    confinement = Confinement(
        writable=(folder / "work",),
        # Python may be installed below a folder that a confined program does not see.
        readable=(folder, Path(sys.prefix), Path(sys.base_prefix)),
        hidden=(folder / "hidden",),
        temporary=folder / "tmp",
        network=() if offline else None,
    )
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1]) if offline else ""
        command = ("/bin/sh", "-c", _FORBIDDEN, "sh", str(folder), str(os.getpid()), port, sys.executable)
        try:
            words = (*backend.wrapper(confinement), *command)
            child = subprocess.run(
                words,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except SandboxUnavailable as error:
            return str(error)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"it could not be run ({error})"
    if child.returncode in _DONE:
        return _DONE[child.returncode]
    if child.returncode != 0:
        return _last_line(child.stderr) or f"it ended with exit code {child.returncode}"
    if (folder / "real" / "new").exists():
        return _DONE[11]
    return None if (folder / "work" / "new").exists() else _DONE[13]


def _last_line(output: bytes) -> str:
    lines = output.decode(errors="replace").strip().splitlines()
    return lines[-1][:200] if lines else ""
