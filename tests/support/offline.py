"""The real offline model for a test: fetched once for all, and put where the test's Portico looks for it."""

import hashlib
import os
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path

from portico.porter.models.offline.model_files import DEFAULT, ModelPart, OfflineFile, is_ready, location
from portico.porter.models.offline.pull_record import write_record
from scripts.fetch_offline_model import offline_model


def have_offline_model(environ: Mapping[str, str]) -> None:
    """As if `portico models pull` had been called. Not for use inside an event loop."""
    target = location(DEFAULT, environ)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.symlink_to(offline_model())
    write_record(DEFAULT, environ)
    assert is_ready(DEFAULT, environ)


def toy_model(*pieces: bytes) -> OfflineFile:
    """A model that consists of these pieces, one in each of its wheels."""
    whole = b"".join(pieces)
    return OfflineFile(
        name="toy",
        title="a toy",
        size=len(whole),
        sha256=hashlib.sha256(whole).hexdigest(),
        window=64,
        license="MIT",
        origin="made by a test",
        abilities="It does nothing.",
        parts=tuple(
            ModelPart(
                package=f"toy-part{number}",
                version="1.0",
                member=f"toy_part{number}/data.bin",
                size=len(piece),
                sha256=hashlib.sha256(piece).hexdigest(),
            )
            for number, piece in enumerate(pieces, 1)
        ),
    )


def toy_wheel(folder: Path, part: ModelPart, content: bytes, *, member: str = "") -> Path:
    """The wheel of a part, whose code would fail a test if it ran."""
    folder.mkdir(parents=True, exist_ok=True)
    name = part.package.replace("-", "_")
    path = folder / f"{name}-{part.version}-py3-none-any.whl"
    about = f"Metadata-Version: 2.1\nName: {part.package}\nVersion: {part.version}\n"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member or part.member, content)
        archive.writestr(f"{name}/__init__.py", "raise SystemExit('this must never run')\n")
        archive.writestr(f"{name}-{part.version}.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{name}-{part.version}.dist-info/METADATA", about)
        archive.writestr(f"{name}-{part.version}.dist-info/RECORD", "")
    return path


def folder_index(folder: Path) -> dict[str, str]:
    """An environment in which pip finds wheels in a folder, and nowhere else."""
    return {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder), "PIP_CONFIG_FILE": os.devnull}


def gguf(**texts: str) -> bytes:
    """A model file with nothing but metadata: the values given, a vocabulary and a few sizes."""
    numbers = {"block_count": 4, "attention.head_count": 8, "attention.head_count_kv": 2}
    numbers |= {"embedding_length": 64, "context_length": 2048}
    entries = [_entry(f"toy.{key}", 4, struct.pack("<I", value)) for key, value in numbers.items()]
    entries.append(_entry("tokenizer.ggml.tokens", 9, struct.pack("<IQ", 8, 2) + _text("a") + _text("b")))
    known = {"general.architecture": "toy", **texts}
    entries += [_entry(key, 8, _text(value)) for key, value in known.items()]
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(entries)) + b"".join(entries)


def _entry(key: str, kind: int, value: bytes) -> bytes:
    return _text(key) + struct.pack("<I", kind) + value


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()
