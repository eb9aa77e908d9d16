"""A program that tries to get out of its sandbox in many ways, and prints what came of each as JSON.

The variable FACTS has, as JSON, the paths real, own, home, state, socket and tools, and the numbers pid, port and other.
"""

import ctypes
import json
import os
import signal
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

FACTS: dict[str, Any] = json.loads(os.environ.get("FACTS", "{}"))
REAL, OWN, HOME, STATE = (Path(FACTS.get(name, "")) for name in ("real", "own", "home", "state"))
LIBC = ctypes.CDLL(None, use_errno=True)
PTRACE_ATTACH, MS_REMOUNT_BIND, MNT_DETACH = 16, 0x20 | 0x1000, 2
CLONE_NEWNS_NEWUSER = 0x20000 | 0x10000000


def call(name: str, *words: Any) -> None:
    """Call libc, and fail as Python's own calls do."""
    if getattr(LIBC, name)(*words) < 0:
        raise OSError(ctypes.get_errno(), name)


def read(path: Path) -> str:
    """Text of a file; an empty one reveals nothing."""
    text = path.read_text()
    if not text:
        raise OSError(0, "empty")
    return text


def write(path: Path) -> None:
    path.write_text("attacked\n")


def link_to(target: Path, name: str) -> Path:
    link = OWN / name
    link.unlink(missing_ok=True)
    link.symlink_to(target)
    return link


def hard_link() -> Path:
    link = OWN / "hard"
    link.unlink(missing_ok=True)
    os.link(REAL / "a.txt", link)
    return link


def move_over_real() -> None:
    write(OWN / "moved")
    (OWN / "moved").replace(REAL / "a.txt")


def nested_user_namespace(attempt: str) -> None:
    subprocess.run(["unshare", "-rm", "sh", "-c", attempt], check=True, capture_output=True)


def connect_unix(name: str) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(FACTS[name])


def enter_namespace_of_first_process() -> None:
    descriptor = os.open("/proc/1/ns/mnt", os.O_RDONLY)
    call("setns", descriptor, 0)
    read(REAL / ".env")


def rewrite_kernel_setting() -> None:
    setting = Path("/proc/sys/kernel/core_pattern")
    setting.write_text(setting.read_text())


def read_disk() -> None:
    for block in Path("/sys/block").iterdir():
        try:
            os.read(os.open(f"/dev/{block.name}", os.O_RDONLY), 512)
        except OSError:
            continue
        return
    raise OSError(0, "none can be read")


def in_folder_handle() -> str:
    folder = os.open(REAL.parent, os.O_PATH)
    inner = os.open(REAL.name, os.O_PATH, dir_fd=folder)
    return read(Path(f"/proc/self/fd/{os.open('.env', os.O_RDONLY, dir_fd=inner)}"))


ON_FILES: dict[str, Callable[[], object]] = {
    "write a real file": lambda: write(REAL / "a.txt"),
    "make a real file": lambda: write(REAL / "new.txt"),
    "write by a link": lambda: write(link_to(REAL / "a.txt", "link")),
    "make a file by a link to the folder": lambda: write(link_to(REAL, "folder") / "linked.txt"),
    "write by a hard link": lambda: write(hard_link()),
    "write by /proc/self/root": lambda: write(Path("/proc/self/root") / str(REAL)[1:] / "a.txt"),
    "write by the host's root": lambda: write(Path(f"/proc/{FACTS['pid']}/root{REAL}/a.txt")),
    "write by the host's folder": lambda: write(Path(f"/proc/{FACTS['pid']}/cwd/attacked")),
    "replace a real file": move_over_real,
    "cut a real file": lambda: os.truncate(REAL / "a.txt", 0),
    "delete a real file": (REAL / "a.txt").unlink,
    "write by a shell": lambda: subprocess.run(["sh", "-c", f"echo x >'{REAL}/sh.txt'"], check=True),
    "plant a hook": lambda: write(REAL / ".git" / "hooks" / "pre-commit"),
    "change the git settings": lambda: write(REAL / ".git" / "config"),
    "write to /etc": lambda: write(Path("/etc/portico-attacked")),
    "write to the home folder": lambda: write(HOME / ".bashrc"),
    "write an approval": lambda: write(STATE / "approvals.json"),
    "make a file in the state folder": lambda: write(STATE / "planted"),
}
ON_SECRETS: dict[str, Callable[[], object]] = {
    "read .env": lambda: read(REAL / ".env"),
    "read .env by a link": lambda: read(link_to(REAL / ".env", "secret")),
    "read .env by a folder's handle": in_folder_handle,
    "read .env by /proc/self/root": lambda: read(Path("/proc/self/root") / str(REAL)[1:] / ".env"),
    "read .env by the host's root": lambda: read(Path(f"/proc/{FACTS['pid']}/root{REAL}/.env")),
    "read a key": lambda: read(HOME / ".ssh" / "id_ed25519"),
    "read a password": lambda: read(HOME / ".netrc"),
    "read the token": lambda: read(STATE / "token"),
}
ON_THE_SYSTEM: dict[str, Callable[[], object]] = {
    "signal the host": lambda: os.kill(FACTS["pid"], signal.SIGURG),
    "trace the host": lambda: call("ptrace", PTRACE_ATTACH, FACTS["pid"], 0, 0),
    "read the host's memory": lambda: os.open(f"/proc/{FACTS['pid']}/mem", os.O_RDWR),
    "read the host's environment": lambda: read(Path(f"/proc/{FACTS['pid']}/environ")),
    "unmount": lambda: call("umount2", os.fsencode(REAL), MNT_DETACH),
    "remount": lambda: call("mount", None, b"/", None, MS_REMOUNT_BIND, None),
    "mount": lambda: call("mount", b"none", os.fsencode(OWN), b"tmpfs", 0, None),
    "enter another mount namespace": enter_namespace_of_first_process,
    "unmount in a user namespace": lambda: nested_user_namespace(f"umount -l '{REAL}' && cat '{REAL}/.env'"),
    "remount in a user namespace": lambda: nested_user_namespace(
        f"mount -o remount,bind,rw / && : >'{REAL}/mounted.txt'"
    ),
    "make a device": lambda: os.mknod(OWN / "device", 0o60600, os.makedev(8, 0)),
    "reach a socket in /tmp": lambda: connect_unix("socket"),
}
AS_ROOT: dict[str, Callable[[], object]] = {
    "change a setting of the kernel": rewrite_kernel_setting,
    "read a disk": read_disk,
    "read the kernel's memory": lambda: os.read(os.open("/proc/kcore", os.O_RDONLY), 4096),
    "reach the power switch": lambda: os.close(os.open("/proc/sysrq-trigger", os.O_WRONLY)),
    "make a control group": (Path("/sys/fs/cgroup") / "portico-attacked").mkdir,
}
ON_THE_NETWORK: dict[str, Callable[[], object]] = {
    "connect": lambda: socket.create_connection(("127.0.0.1", FACTS["port"]), timeout=5).close(),
    "connect to the other": lambda: socket.create_connection(
        ("127.0.0.1", FACTS["other"]), timeout=5
    ).close(),
}
BY_RIGHT: dict[str, Callable[[], object]] = {
    "write its own file": lambda: write(OWN / "own.txt"),
    "write a temporary file": lambda: write(Path(os.environ["TMPDIR"]) / "temporary"),
    "read its own file": lambda: read(OWN / "a.txt"),
    "reach a socket of Portico's tools": lambda: connect_unix("tools"),
    "read a program": lambda: Path("/bin/sh").read_bytes(),
}


def outcome(attempt: Callable[[], object]) -> str:
    try:
        attempt()
    except (OSError, subprocess.CalledProcessError) as error:
        return f"refused: {error}"
    return "done"


def main() -> None:
    groups = (BY_RIGHT, ON_FILES, ON_SECRETS, ON_THE_SYSTEM, AS_ROOT, ON_THE_NETWORK)
    attempts = {name: attempt for group in groups for name, attempt in group.items()}
    print(json.dumps({name: outcome(attempts[name]) for name in FACTS.get("only", attempts)}))


if __name__ == "__main__":
    main()
