"""The messages of the Language Server Protocol, by the types that are generated from its specification."""

from typing import Any

import cattrs
from lsprotocol import converters, types

_CONVERTER = converters.get_converter()


def check_official(message: dict[str, Any]) -> None:
    """Raise if a message is no value of the official types, or has fields that they do not know."""
    request, _, params, _ = types.METHOD_TO_TYPES[message["method"]]
    assert message["jsonrpc"] == "2.0"
    if params is not None and message.get("params") is not None:
        read: Any = _CONVERTER.structure(message["params"], params)  # type: ignore[arg-type]
        told = _CONVERTER.unstructure(read, unstructure_as=params)
        assert _unknown(message["params"], told) == [], message
    _CONVERTER.structure(message, request)


def is_official_answer(methods: set[str], answer: dict[str, Any]) -> bool:
    """Whether an answer fits one of the requests that had its id; several servers may use the same."""
    if "error" in answer:
        _CONVERTER.structure(answer["error"], types.ResponseError)
        return bool(answer["jsonrpc"] == "2.0")
    for method in methods:
        try:
            _CONVERTER.structure(answer, types.METHOD_TO_TYPES[method][1])  # type: ignore[arg-type]
        except (cattrs.BaseValidationError, TypeError, ValueError):
            continue
        return bool(answer["jsonrpc"] == "2.0")
    return False


def _unknown(sent: Any, known: Any, path: str = "") -> list[str]:
    """Fields that were sent, and that the types do not know."""
    if isinstance(sent, dict) and isinstance(known, dict):
        missing = [f"{path}.{name}" for name in sent if name not in known and sent[name] is not None]
        return missing + [
            one
            for name in sent
            if name in known
            for one in _unknown(sent[name], known[name], f"{path}.{name}")
        ]
    if isinstance(sent, list) and isinstance(known, list):
        return [one for a, b in zip(sent, known, strict=True) for one in _unknown(a, b, f"{path}[]")]
    return []
