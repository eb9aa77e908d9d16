"""Recovery of ids from lines that cannot be decoded, so that the peer's request or our caller gets an error.

Imported only when a malformed line arrives.
"""

import json
import re
from typing import Any

from msgspec import UNSET, UnsetType

from portico.rpc.framing import OverlongLine
from portico.rpc.messages import INTERNAL_ERROR, Fault, RequestId, RpcError

_HEAD = 1024
_MEMBER = rb'\s*"(?:id|jsonrpc|method)"\s*:\s*(?:-?[0-9]{1,18}|"(?:[^"\\]|\\.){0,512}")\s*'


def malformed_request_id(line: bytes | OverlongLine) -> RequestId | UnsetType:
    """The id with which to refuse a request that cannot be decoded, so that its sender does not wait.

    None, as JSON-RPC says, if the id itself cannot be sent back; UNSET if the line is no request.
    """
    found = _ruins(line)
    if isinstance(found, list):
        return None if any(isinstance(one, dict) and "method" in one for one in found) else UNSET
    if "method" not in found or "id" not in found:
        return UNSET
    return found["id"] if _is_repeatable(found["id"]) else None


def malformed_response_id(line: bytes | OverlongLine) -> RequestId | UnsetType:
    """The id of a response that cannot be decoded, if it is legible: a local caller waits for it."""
    found = _ruins(line)
    if isinstance(found, list) or "method" in found or "id" not in found:
        return UNSET
    return found["id"] if _is_repeatable(found["id"]) else UNSET


def malformed_response_error(fault: Fault) -> RpcError:
    """The error for a caller whose response cannot be decoded."""
    return RpcError(INTERNAL_ERROR, f"the answer is malformed: {fault.detail}")


def _is_repeatable(request_id: Any) -> bool:
    """Whether an id can be sent back: half of a surrogate pair cannot be encoded."""
    if type(request_id) is str:
        return not any("\ud800" <= letter <= "\udfff" for letter in request_id)
    return type(request_id) is int


def _ruins(line: bytes | OverlongLine) -> dict[str, Any] | list[Any]:
    """A message or a batch as far as `json` can read it, which accepts NaN and half of a surrogate pair."""
    if isinstance(line, OverlongLine):
        return _short_members(line.head, line.tail)
    try:
        found = json.loads(line.decode(errors="replace"))
    except (ValueError, RecursionError):
        members = _short_members(line[:_HEAD], b"")
        return members if "method" in members or _is_answer(line) else {}
    return found if isinstance(found, (dict, list)) else {}


def _is_answer(line: bytes) -> bool:
    """Whether a broken line begins like a response."""
    return re.match(rb'\s*\{(?:%b,)*\s*"(?:result|error)"\s*:' % _MEMBER, line[:_HEAD]) is not None


def _short_members(head: bytes, tail: bytes) -> dict[str, Any]:
    """The members before and after the one that is long or broken.

    No string can look like that: a quotation mark in it is escaped.
    """
    before = re.match(rb"\s*\{((?:%b(?:,|(?=\})))*)" % _MEMBER, head)
    after = re.search(rb"((?:,%b)*)\}\s*$" % _MEMBER, tail)
    parts = (before[1].strip(b", ") if before else b"", after[1].strip(b", ") if after else b"")
    try:
        members: dict[str, Any] = json.loads(b"{%b}" % b",".join(filter(None, parts)))
    except ValueError:
        return {}
    return members
