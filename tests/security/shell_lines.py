"""Random shell lines around one command, and real shells that show whether they run it."""

import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

_PIECES = [
    "rm",
    "rm",
    "rm",
    "rm",
    "x",
    "y",
    "r",
    "m",
    "\\",
    "'",
    '"',
    '"',
    "'",
    "$(",
    ")",
    "`",
    "`",
    ";",
    ";",
    "&&",
    "||",
    "|",
    "&",
    "(",
    ")",
    "{",
    "}",
    "#",
    "$X",
    "${X}",
    "${X:-",
    "}",
    "${#X}",
    "$'",
    "$((1",
    "))",
    "<",
    ">",
    "2>",
    ">&",
    "sh",
    "bash",
    "eval",
    "echo",
    "true",
    "env",
    "nohup",
    "xargs",
    "find",
    "command",
    "exec",
    "time",
    "!",
    "if",
    "then",
    "fi",
    "case",
    "in",
    "esac",
    "for",
    "do",
    "done",
    "A=1",
    "-c",
    "-exec",
    "-n",
    "5",
    "--",
    "{}",
    "\\;",
    "*",
]
_WHOLE = (
    "rm x", "sh -c 'rm x'", '"$(rm x)"', "`rm x`", "echo x | xargs rm", "find . -exec rm {} \\;", "$X y",
    "<<E\nrm x\nE\n", "<<'E'\n$(rm x)\nE\n", "<<-E\n\t`rm x`\n\tE\n", "sh <<E\nrm x\nE\n", "bash <<< 'rm x'",
    "<(rm x)", ">(rm x)", "2>&1", ">/dev/null", "${X:-$(rm x)}", "${Y:-\"}\"}", "'a b'", "\"a b\"", "#", "\\\n",
    "$((1<<2))", "$'\\''", "{ rm x; }", "( rm x )", "if true; then rm x; fi", "A=$(rm x)", "eval 'rm x'",
    "timeout 5 rm x", "env A=1 rm x", "nice -n 1 rm x", "trap 'rm x' EXIT", "case x in x) rm x;; esac",
)  # fmt: skip
_BLANKS = ("", " ", " ", " ", " ", "\n", "\t")
_REAL = ("sh", "bash", "env", "nohup", "xargs", "find", "timeout", "nice", "cat")


def random_lines(seed: int, count: int) -> Iterator[str]:
    chance = random.Random(seed)
    for _ in range(count):
        pieces = [
            chance.choice(_PIECES if chance.random() < 0.6 else _WHOLE) for _ in range(chance.randint(1, 9))
        ]
        yield "".join(piece + chance.choice(_BLANKS) for piece in pieces)


class Shells:
    """Shells in an empty folder, whose `rm` only leaves a mark and whose `X` is `rm`."""

    def __init__(self, folder: Path) -> None:
        self._bin, self._mark, self._cwd = folder / "bin", folder / "mark", folder / "empty"
        self._bin.mkdir()
        self._cwd.mkdir()
        for name in _REAL:
            (self._bin / name).symlink_to(shutil.which(name) or f"/bin/{name}")
        removing = self._bin / "rm"
        removing.write_text(f'#!{shutil.which("sh")}\necho ran >> "$MARK"\n')
        removing.chmod(0o755)

    def runs_rm(self, line: str) -> bool:
        self._mark.unlink(missing_ok=True)
        for left in self._cwd.iterdir():
            left.unlink()
        environ = {"PATH": str(self._bin), "MARK": str(self._mark), "X": "rm", "HOME": str(self._cwd)}
        for shell in ("sh", "bash"):
            with subprocess.Popen(
                [self._bin / shell, "-c", line],
                env=environ,
                cwd=self._cwd,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            ) as process:
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, 9)
        return self._mark.exists()
