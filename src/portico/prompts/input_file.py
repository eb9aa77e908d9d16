"""Reads files that prompts are run on: text of bounded size."""

import os
from collections.abc import Callable
from pathlib import Path

from portico.domain.errors import FileMissing, InvalidInput
from portico.files import real_path
from portico.files.regular import FileTooLarge, read_regular
from portico.prompts.output_file import without_provenance
from portico.prompts.run_options import MAX_INPUT_BYTES, too_large

MARKDOWN = (".md", ".markdown")


def read_text_file(path: Path, name: str) -> str:
    """The text of a file. FileMissing or InvalidInput if it is not there, too large, or no text."""
    return _read(lambda: read_regular(path, limit=MAX_INPUT_BYTES), name)


def read_file_of(workspace: Path, name: str) -> str:
    """The text of a file in a workspace, without the provenance of an earlier run.

    InvalidInput for one outside of it, also through a link.
    """
    root = os.path.realpath(workspace)

    def read() -> bytes:
        place = os.path.realpath(workspace / name)
        if not Path(place).is_relative_to(root):
            raise InvalidInput(f"{name} is not in {workspace}.", suggestion="Choose a file of the folder.")
        return real_path.read(place, limit=MAX_INPUT_BYTES)

    text = _read(lambda: real_path.retry_on_link(read), name)
    return without_provenance(text) if Path(name).suffix.lower() in MARKDOWN else text


def decode_input(data: bytes, name: str) -> str:
    """Bytes as text. InvalidInput if they are none."""
    if b"\0" in data:
        raise InvalidInput(f"{name} is binary, not text.", suggestion="Attach it to a prompt instead.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{name} is not UTF-8 (byte {error.start + 1}).") from error


def _read(read: Callable[[], bytes], name: str) -> str:
    try:
        data = read()
    except FileNotFoundError as error:
        raise FileMissing(f"{name} does not exist.", suggestion="Give an existing file.") from error
    except FileTooLarge as error:
        raise too_large(name) from error
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise InvalidInput(f"{name} cannot be read: {why}.") from error
    return decode_input(data, name)
