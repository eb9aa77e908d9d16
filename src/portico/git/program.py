"""Runner of the git program: no hooks or filters, no prompts, bounded output, errors that say what to do.

Hooks, monitors, pagers, signers and transports are off. Commands that read or write files of a working tree, or
merge, run in a `private_folder`, where no filter and no merge driver is known; `filters.clean` alone runs one.
Knows no command of git; the modules beside it do.
"""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Coroutine, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from portico.domain.errors import InvalidInput, PermissionDenied, PorticoError, SessionBusy, StoreFailed
from portico.files.private import open_private
from portico.processes.executables import CannotRun, find_program
from portico.processes.git_settings import safe_git_environ, safe_git_options

OUTPUT_LIMIT_BYTES = 64 * 1024 * 1024
_ERROR_LIMIT_BYTES = 64 * 1024
_DEADLINE_SECONDS = 300.0
_CHUNK_BYTES = 256 * 1024
_PRIVATE, _INHERITED = 0o077, -1


class GitResult(msgspec.Struct, frozen=True):
    """Exit code and output of a git process."""

    code: int
    output: bytes
    complaint: str

    @property
    def text(self) -> str:
        return os.fsdecode(self.output).rstrip("\n")

    @property
    def names(self) -> list[str]:
        """NUL-separated names in the output."""
        return [os.fsdecode(name) for name in self.raw_names]

    @property
    def raw_names(self) -> list[bytes]:
        return [name for name in self.output.split(b"\0") if name]


def path_input(paths: Iterable[str]) -> bytes:
    """Paths for the standard input of a git command with `-z`."""
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


class Git:
    """The git program in one folder. It is looked up in `environ` and gets those variables, except GIT_*.

    If `private`, only the owner can access the files that it creates.
    """

    def __init__(
        self,
        folder: Path,
        environ: Mapping[str, str],
        settings: Iterable[str] = (),
        *,
        private: bool = False,
    ) -> None:
        self.folder = folder
        self._umask = _PRIVATE if private and sys.platform != "win32" else _INHERITED
        self._settings = tuple(settings)
        self._environ = safe_git_environ(environ) | {"GIT_LITERAL_PATHSPECS": "1", "LC_ALL": "C"}

    def having(self, *settings: str, **variables: str) -> "Git":
        """A copy with more settings and environment variables, such as GIT_INDEX_FILE."""
        other = Git(self.folder, {})
        other._settings = self._settings + settings
        other._environ = self._environ | variables
        other._umask = self._umask
        return other

    def at(self, folder: Path) -> "Git":
        other = self.having()
        other.folder = folder
        return other

    async def run(self, *words: str, given: bytes = b"", into: Path | None = None) -> GitResult:
        """Run git; raise if it fails. Output is returned, or written `into` a file."""
        answer = await self.ask(*words, given=given, into=into)
        if answer.code != 0:
            raise translated(words[0], answer.complaint)
        return answer

    async def ask(
        self,
        *words: str,
        given: bytes = b"",
        into: Path | None = None,
        seconds: float = _DEADLINE_SECONDS,
    ) -> GitResult:
        """Run git and return its exit code, also on failure. StoreFailed on timeout."""
        try:
            program = find_program("git", cwd=self.folder, environ=self._environ)
        except CannotRun as error:
            raise InvalidInput(
                f"Git cannot be run: {error.reason}.",
                suggestion="Install git and make sure that it is on PATH, or use the proposal mode.",
            ) from error
        settings = [part for setting in self._settings for part in ("-c", setting)]
        sink = None if into is None else await asyncio.to_thread(_opened, into)
        try:
            process = await _started(
                asyncio.create_subprocess_exec(
                    *(program, *safe_git_options(), *settings, *words),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE if sink is None else sink,
                    stderr=subprocess.PIPE,
                    cwd=self.folder,
                    env=self._environ,
                    start_new_session=True,
                    umask=self._umask,
                )
            )
        except (OSError, ValueError) as error:
            raise InvalidInput(f"Git could not be started in {self.folder}: {error}.") from error
        finally:
            if sink is not None:
                sink.close()
        return await self._conversed(process, words[0], given, seconds)

    async def _conversed(
        self, process: asyncio.subprocess.Process, verb: str, given: bytes, seconds: float
    ) -> GitResult:
        named = f"git {verb}"
        tasks = (
            asyncio.create_task(_gather(process.stdout, OUTPUT_LIMIT_BYTES), name=f"output of {named}"),
            asyncio.create_task(
                _gather(process.stderr, _ERROR_LIMIT_BYTES, cut=True), name=f"errors of {named}"
            ),
            asyncio.create_task(_feed(process.stdin, given), name=f"input of {named}"),
        )
        try:
            async with asyncio.timeout(seconds):
                output, errors, _ = await asyncio.gather(*tasks)
                code = await process.wait()
        except TimeoutError as error:
            raise StoreFailed(f"{named} did not end within {seconds:.0f} s.") from error
        except _TooMuch as error:
            raise InvalidInput(
                f"{named} said more than {OUTPUT_LIMIT_BYTES >> 20} MB; this folder is too large for it.",
                suggestion="Open a smaller folder, or ignore what is generated.",
            ) from error
        finally:
            for task in tasks:
                task.cancel()
            if process.returncode is None:
                _ask_to_end(process)
                await asyncio.shield(_drained(process, tasks))
        return GitResult(code, output, errors.decode(errors="replace").strip())


def _opened(place: Path) -> BinaryIO:
    return open(open_private(place, os.O_WRONLY | os.O_TRUNC), "wb")  # noqa: PTH123 - a descriptor


async def _started(
    starting: Coroutine[Any, Any, asyncio.subprocess.Process],
) -> asyncio.subprocess.Process:
    """Start a process. On cancellation, wait until it has started, then end it: asyncio cannot cancel a
    start.
    """
    task = asyncio.ensure_future(starting)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        process = await task
        _ask_to_end(process)
        await process.communicate()
        raise


async def _drained(process: asyncio.subprocess.Process, tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Read the remaining output: asyncio reports the end of a process only after that."""
    await asyncio.gather(*tasks, return_exceptions=True)
    await process.communicate()


def _ask_to_end(process: asyncio.subprocess.Process) -> None:
    """Send SIGTERM, on which git removes its lock files.

    Not through asyncio, whose check for the end of the process would take the exit code.
    """
    if sys.platform == "win32":
        process.terminate()
        return
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGTERM)


class _TooMuch(Exception):
    """Output exceeds the limit."""


async def _feed(stream: asyncio.StreamWriter | None, given: bytes) -> None:
    if stream is None:
        return
    try:
        for start in range(0, len(given), _CHUNK_BYTES):
            stream.write(given[start : start + _CHUNK_BYTES])
            await stream.drain()
    except (BrokenPipeError, ConnectionResetError):
        return  # It has ended before it had read all; its exit code says why.
    finally:
        stream.close()


async def _gather(stream: asyncio.StreamReader | None, limit: int, *, cut: bool = False) -> bytes:
    gathered = bytearray()
    while stream is not None and (chunk := await stream.read(_CHUNK_BYTES)):
        if len(gathered) + len(chunk) > limit and not cut:
            raise _TooMuch
        gathered += chunk[: max(0, limit - len(gathered))]
    return bytes(gathered)


def translated(verb: str, complaint: str) -> PorticoError:
    """Error for a failure of git, with what to do."""
    reason = (
        " ".join(complaint.replace("fatal: ", "").replace("error: ", "").split())[:500] or "no reason given"
    )
    said = f"git {verb} failed: {reason}"
    match complaint:
        case text if "dubious ownership" in text:
            return PermissionDenied(
                "Git does not trust this repository, because it belongs to another user.",
                suggestion="If you trust it, run git config --global --add safe.directory with its folder.",
            )
        case text if ".lock" in text and "exists" in text:
            return SessionBusy(
                f"Another git process is using this repository. {said}",
                suggestion="Wait for it to end. If none is running, remove the lock file named here.",
            )
        case text if "external filter" in text or "clean filter" in text or "smudge filter" in text:
            return InvalidInput(
                f"A filter configured in the repository failed. {said}",
                suggestion="Install its program (git-lfs, say), or use the proposal mode, which runs no filter.",
            )
        case text if "No space left" in text or "Disk quota" in text:
            return StoreFailed(f"The disk is full. {said}", suggestion="Free some space and try again.")
        case text if "Permission denied" in text or "Read-only file system" in text:
            return PermissionDenied(
                f"Git is not allowed to read or write there. {said}",
                suggestion="Check the permissions of the folder and its .git.",
            )
        case text if "not a git repository" in text:
            return InvalidInput(
                "This folder is not a git repository.",
                suggestion="Run git init there, or use the proposal mode, which needs no repository.",
            )
        case _:
            return StoreFailed(said, suggestion="Run git fsck there to see whether the repository is sound.")
