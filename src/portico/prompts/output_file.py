"""Output file of a prompt run: the answer, with its provenance as front matter or in a file beside it.

A Markdown file has the provenance under `portico` in its front matter; the other fields there are the person's and are
kept. Any other file has it in `FILE.provenance.json`. A file that Portico did not write, or that was edited since, is
replaced only with `force`; one that changes during the run is not replaced at all.
"""

import hashlib
import os
import re
from pathlib import Path

import msgspec

from portico.domain import codecs
from portico.domain.errors import InvalidInput
from portico.files import real_path
from portico.prompts.provenance import RunProvenance, provenance_fields

MAX_OUTPUT_BYTES = 64 * 1024 * 1024
_MARKDOWN = (".md", ".markdown", ".mdown")
_FRONT = re.compile(r"\A---[ \t]*\n(?P<fields>.*?)^---[ \t]*(?:\n|\Z)", re.MULTILINE | re.DOTALL)
_OURS = re.compile(r"^portico:[ \t]*(?P<first>[^\n]*)\n(?P<more>(?:[ \t]+[^\n]*\n)*)", re.MULTILINE)
_TEXT = re.compile(r'^[ \t]+textFingerprint: "?(?P<digest>[0-9a-f]{64})"?[ \t]*$', re.MULTILINE)
_TRIES = 1000


class OutputFile:
    """A file that a run will write. Raises InvalidInput at once if it must not be written."""

    def __init__(self, path: Path, *, force: bool = False) -> None:
        self.path = Path(os.path.realpath(path))
        self._before = self._content()
        if not self.path.parent.is_dir():
            raise InvalidInput(
                f"The folder {self.path.parent} does not exist.", suggestion="Create it, or use another file."
            )
        if self._before is not None and not force:
            self._require_ours(self._before)

    def write(self, text: str, provenance: RunProvenance) -> Path:
        """Write the answer and return its path: another one if the file changed, or if half an answer would replace it."""
        now = self._content()
        whole = provenance.complete or now is None
        path = self.path if now == self._before and whole else _free_path(self.path)
        before = now if path == self.path else self._before
        data, provenance = as_written(text, provenance)
        try:
            if _is_markdown(path):
                real_path.replace_content(path, with_front_matter(data, provenance, before).encode())
            else:
                real_path.replace_content(path, data.encode())
                real_path.replace_content(_sidecar(path), provenance_json(provenance))
        except OSError as error:
            raise InvalidInput(
                f"{path} cannot be written: {error.strerror}.",
                suggestion=f"The answer is kept: portico sessions show {provenance.session_id}",
            ) from error
        return path

    def _content(self) -> bytes | None:
        try:
            return real_path.read(self.path, limit=MAX_OUTPUT_BYTES) if real_path.exists(self.path) else None
        except OSError as error:
            raise InvalidInput(
                f"{self.path} cannot be used as output: {error.strerror}.", suggestion="Use another file."
            ) from error

    def _require_ours(self, data: bytes) -> None:
        recorded = self._recorded(data)
        if recorded is None:
            problem = "exists and was not written by a prompt"
        elif recorded != _digest(without_provenance(data.decode("utf-8", "replace"), drop_fields=True)):
            problem = "was edited since it was written"
        else:
            return
        raise InvalidInput(
            f"{self.path} {problem}.", suggestion="Use another file, or replace its text with --force."
        )

    def _recorded(self, data: bytes) -> str | None:
        """Return the fingerprint of the text as it was written."""
        if _is_markdown(self.path):
            front = _FRONT.match(data.decode("utf-8", "replace"))
            ours = _OURS.search(front["fields"]) if front else None
            found = _TEXT.search(ours["more"]) if ours else None
            return found["digest"] if found else None
        try:
            beside = real_path.read(_sidecar(self.path), limit=MAX_OUTPUT_BYTES)
            return codecs.decode_json(beside, _Sidecar).text_fingerprint
        except (OSError, msgspec.DecodeError):
            return None


def as_written(text: str, provenance: RunProvenance) -> tuple[str, RunProvenance]:
    """Return an answer as a file has it, and its provenance with the fingerprint of that."""
    data = f"{text.rstrip()}\n" if text.strip() else ""
    return data, msgspec.structs.replace(provenance, text_fingerprint=_digest(data))


class _Sidecar(msgspec.Struct, rename="camel"):
    text_fingerprint: str | None = None


def without_provenance(text: str, *, drop_fields: bool = False) -> str:
    """Return a Markdown text without the provenance in its front matter; with `drop_fields`, without any."""
    front = _FRONT.match(text)
    if front is None or _OURS.search(front["fields"]) is None:
        return text
    others = _OURS.sub("", front["fields"])
    body = text[front.end() :].removeprefix("\n")
    return body if drop_fields or not others.strip() else f"---\n{others}---\n\n{body}"


def with_front_matter(text: str, provenance: RunProvenance, before: bytes | None = None) -> str:
    """Return a Markdown text with its provenance as front matter, which keeps the other fields of the file before."""
    front = _FRONT.match((before or b"").decode("utf-8", "replace"))
    kept = _OURS.sub("", front["fields"]) if front else ""
    lines = [
        f"  {key}: {msgspec.json.encode(value).decode()}"
        for key, value in provenance_fields(provenance).items()
    ]
    ours = "\n".join(["portico:", *lines])
    return f"---\n{kept}{ours}\n---\n\n{text}"


def _free_path(path: Path) -> Path:
    for number in range(1, _TRIES):
        beside = path.with_name(f"{path.stem}.{number}{path.suffix}")
        if not real_path.exists(beside):
            return beside
    raise InvalidInput(
        f"{path} cannot be written: too many files have its name.", suggestion="Move some away."
    )


def provenance_json(provenance: RunProvenance) -> bytes:
    return msgspec.json.format(msgspec.json.encode(provenance_fields(provenance)), indent=2) + b"\n"


def _sidecar(path: Path) -> Path:
    return path.with_name(f"{path.name}.provenance.json")


def _is_markdown(path: Path) -> bool:
    return path.suffix.lower() in _MARKDOWN


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
