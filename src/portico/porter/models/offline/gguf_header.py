"""Reads the metadata of a GGUF model file: what it is, its licence, and what its context costs in memory.

The file is not trusted. Only its beginning is read, every length is bounded, and arrays are skipped.
"""

import struct
from pathlib import Path

import msgspec

from portico.domain.errors import InvalidInput

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_MAX_ENTRIES = 10_000
_MAX_TEXT = 1024 * 1024
_MAX_HEADER = 32 * 1024 * 1024
_TEXT, _ARRAY = 8, 9
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_COUNT = struct.Struct("<Q")
_HALF_FLOAT_BYTES = 2


class ModelHeader(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about a model. `token_bytes` is the memory that one token of context takes, 0 if unknown."""

    title: str = ""
    license: str = ""
    window: int = 0
    template: str = ""
    token_bytes: int = 0


def read_header(path: Path) -> ModelHeader:
    """Read the metadata of a model file. Blocks. Raises InvalidInput if it is not a GGUF file."""
    try:
        with path.open("rb") as file:
            values = _Reader(file.read(_MAX_HEADER)).entries()
    except (struct.error, ValueError) as error:
        reason = "it is cut off" if isinstance(error, struct.error) else error
        raise InvalidInput(
            f"{path} is not a model file: {reason}.", suggestion="Give a file in the GGUF format."
        ) from error
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from error
    kind = _text(values, "general.architecture")
    return ModelHeader(
        title=_text(values, "general.name"),
        license=_text(values, "general.license"),
        window=_number(values, f"{kind}.context_length"),
        template=_text(values, "tokenizer.chat_template"),
        token_bytes=_token_bytes(values, kind),
    )


def _token_bytes(values: dict[str, object], kind: str) -> int:
    """Keys and values of one token in all layers, in half precision."""
    layers, heads = _number(values, f"{kind}.block_count"), _number(values, f"{kind}.attention.head_count")
    shared = _number(values, f"{kind}.attention.head_count_kv") or heads
    width = _number(values, f"{kind}.embedding_length") // heads if heads else 0
    key = _number(values, f"{kind}.attention.key_length") or width
    value = _number(values, f"{kind}.attention.value_length") or width
    return layers * shared * (key + value) * _HALF_FLOAT_BYTES


def _text(values: dict[str, object], key: str) -> str:
    found = values.get(key)
    return found if isinstance(found, str) else ""


def _number(values: dict[str, object], key: str) -> int:
    found = values.get(key)
    return found if isinstance(found, int) else 0


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def entries(self) -> dict[str, object]:
        if not self._data.startswith(_MAGIC):
            raise ValueError("it does not begin with GGUF")
        self._position = len(_MAGIC)
        version = self._scalar("I")
        if version not in _VERSIONS:
            raise ValueError(f"version {version} of the format is unknown")
        self._count()  # tensors
        entries = self._count()
        if entries > _MAX_ENTRIES:
            raise ValueError("it has too much metadata")
        found: dict[str, object] = {}
        for _ in range(entries):
            key = self._text()
            found[key] = self._value(self._scalar("I"))
        return found

    def _value(self, kind: object) -> object:
        if kind == _TEXT:
            return self._text()
        if kind == _ARRAY:
            self._skip_array()
            return None
        if kind in _NUMBERS:
            return self._scalar(_NUMBERS[kind])
        raise ValueError(f"its metadata has the unknown type {kind}")

    def _skip_array(self) -> None:
        kind, count = self._scalar("I"), self._count()
        if kind in _NUMBERS:
            self._position += struct.calcsize(_NUMBERS[kind]) * count
        elif kind == _TEXT:
            # A vocabulary has hundreds of thousands of texts, so this loop calls nothing of its own.
            data, position, size = self._data, self._position, _COUNT.size
            for _ in range(count):
                position += size + _COUNT.unpack_from(data, position)[0]
            self._position = position
        else:
            raise ValueError("it has nested arrays")

    def _scalar(self, code: str) -> object:
        form = f"<{code}"
        (found,) = struct.unpack_from(form, self._data, self._position)
        self._position += struct.calcsize(form)
        return found

    def _count(self) -> int:
        (found,) = _COUNT.unpack_from(self._data, self._position)
        self._position += _COUNT.size
        return int(found)

    def _text(self) -> str:
        size = self._count()
        end = self._position + size
        if size > _MAX_TEXT or end > len(self._data):
            raise ValueError("a text in its metadata is too long")
        found = self._data[self._position : end].decode(errors="replace")
        self._position = end
        return found
