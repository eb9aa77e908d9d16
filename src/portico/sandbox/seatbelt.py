"""Seatbelt backend: the macOS sandbox, by `sandbox-exec` and a generated profile.

Later rules of a profile win over earlier ones. Seatbelt knows addresses of this machine only, so hosts cannot be
named, and there is no other `/tmp`: temporary files are where TMPDIR says.
"""

from pathlib import Path

from portico.sandbox.confinement import Confinement, SandboxUnavailable

NAME = "sandbox-exec"
_PROGRAM = "/usr/bin/sandbox-exec"
_BEGINNING = """(version 1)
(allow default)
(deny signal (target others))
(deny process-info* (target others))
(deny file-write*)
(allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (literal "/dev/dtracehelper"))"""


def wrapper(confinement: Confinement) -> tuple[str, ...]:
    """Words that run what follows them, confined. Unavailable where that cannot be."""
    if not Path(_PROGRAM).exists():
        raise SandboxUnavailable("sandbox-exec is for macOS")
    words = (_PROGRAM, "-p", profile(confinement))
    if confinement.temporary is None:
        return words
    return ("/usr/bin/env", f"TMPDIR={confinement.temporary}", *words)


def profile(confinement: Confinement) -> str:
    """The profile in Seatbelt's own language."""
    if confinement.network:
        raise SandboxUnavailable("sandbox-exec cannot allow single hosts")
    lines = [_BEGINNING]
    rules = confinement.rules()
    if confinement.temporary is not None:
        rules.append((confinement.temporary, "writable"))
    for path, access in rules:
        place = f"(subpath {_quoted(path)})"
        match access:
            case "hidden":
                lines.append(f"(deny file-read* file-write* {place})")
            case "readable":
                lines.append(f"(allow file-read* {place})")
            case "writable":
                lines.append(f"(allow file-read* file-write* {place})")
    if confinement.network is not None:
        lines.append("(deny network*)")
    return "\n".join(lines)


def _quoted(path: Path) -> str:
    text = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'
