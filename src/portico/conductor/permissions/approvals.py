"""Permanent approvals of a person, and the private file they are kept in.

A file that cannot be trusted or understood approves nothing and is never written over. An approval
holds for one agent in one workspace, because a file of the same name elsewhere is another file.
"""

import logging
import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from portico.conductor.permissions.action import RequestedAction
from portico.conductor.permissions.policy import PermissionRule, parse_rule
from portico.domain import codecs
from portico.domain.errors import InvalidInput, PorticoError
from portico.files.private import private_change, replace_private

log = logging.getLogger(__name__)

MAX_FILE_BYTES = 1 << 20
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class Approval(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One approval. Times are UTC, in milliseconds since 1970; None for agent or workspace means any."""

    id: str
    rule: str
    agent: str | None
    workspace: str | None
    created_at: int
    last_used: int | None = None
    uses: int = 0

    def covers(self, action: RequestedAction) -> bool:
        if self.agent not in (None, action.approved_as or action.agent) or self.workspace not in (
            None,
            action.workspace,
        ):
            return False
        try:
            return parse_rule(self.rule).covers(action)
        except InvalidInput:
            log.warning("ignoring approval %s: its rule is not valid", self.id)
            return False


class Approvals(Protocol):
    """Approvals that outlive a session: used by the permission broker, listed and revoked by a person."""

    def list(self) -> tuple[Approval, ...]:
        """All approvals, oldest first. InvalidInput if they cannot be read."""
        ...

    def add(self, rule: PermissionRule, *, workspace: str | None) -> Approval:
        """Keep a rule for its agent; adding it again has no effect. PorticoError if it cannot be kept."""
        ...

    def revoke(self, approval_id: str) -> Approval:
        """Remove one by its id or a unique prefix of it. InvalidInput if there is none."""
        ...

    def use(self, action: RequestedAction) -> Approval | None:
        """The approval that covers an action, with its use counted. None as well if none can be read."""
        ...


class _Document(msgspec.Struct, frozen=True):
    version: Literal[1] = 1
    approvals: tuple[Approval, ...] = ()


class FileApprovals:
    """A JSON file that only its owner can read, changed by one process at a time."""

    def __init__(self, path: Path, now_ms: Callable[[], int]) -> None:
        self._path = path
        self._now_ms = now_ms

    def list(self) -> tuple[Approval, ...]:
        return self._read().approvals

    def add(self, rule: PermissionRule, *, workspace: str | None) -> Approval:
        with private_change(self._path):
            kept = self._read().approvals
            for known in kept:
                if (known.rule, known.agent, known.workspace) == (rule.unscoped, rule.agent, workspace):
                    return known
            made = Approval(
                id=secrets.token_hex(4),
                rule=rule.unscoped,
                agent=rule.agent,
                workspace=workspace,
                created_at=self._now_ms(),
            )
            self._write((*kept, made))
            return made

    def revoke(self, approval_id: str) -> Approval:
        with private_change(self._path):
            kept = self._read().approvals
            found = [one for one in kept if approval_id and one.id.startswith(approval_id)]
            if len(found) != 1:
                what = "Several approvals start" if found else "No approval starts"
                raise InvalidInput(f"{what} with {approval_id!r}.", suggestion="List them to see their ids.")
            self._write(tuple(one for one in kept if one is not found[0]))
            return found[0]

    def use(self, action: RequestedAction) -> Approval | None:
        if not self._path.exists():
            return None
        try:
            with private_change(self._path):
                kept = self._read().approvals
                found = next((one for one in kept if one.covers(action)), None)
                if found is None:
                    return None
                used = msgspec.structs.replace(found, last_used=self._now_ms(), uses=found.uses + 1)
                try:
                    self._write(tuple(used if one is found else one for one in kept))
                except OSError as error:
                    log.warning("the use of an approval could not be counted: %s", error)
                return used
        except PorticoError as error:
            log.warning("no approval is used: %s", error.message)
            return None

    def _read(self) -> _Document:
        try:
            with self._path.open("rb") as file:
                _require_own(os.fstat(file.fileno()), self._path)
                data = file.read(MAX_FILE_BYTES + 1)
        except FileNotFoundError:
            return _Document()
        except OSError as error:
            raise _unusable(self._path, error.strerror or str(error)) from error
        if len(data) > MAX_FILE_BYTES:
            raise _unusable(self._path, "it is too large")
        try:
            return codecs.decode_json(data, _Document)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise _unusable(self._path, str(error)) from error

    def _write(self, approvals: tuple[Approval, ...]) -> None:
        """Replace the file as a whole; if that fails, the old one stays."""
        data = msgspec.json.format(msgspec.json.encode(_Document(approvals=approvals)), indent=2) + b"\n"
        replace_private(self._path, data)


def _require_own(status: os.stat_result, path: Path) -> None:
    """Refuse a file that other users may write: they could approve in this person's name."""
    if os.name == "nt":
        return
    if status.st_uid not in (os.getuid(), 0) or status.st_mode & _WRITABLE_BY_OTHERS:
        raise _unusable(path, "other users may write to it")


def _unusable(path: Path, why: str) -> InvalidInput:
    return InvalidInput(
        f"The approvals in {path} cannot be used: {why}.",
        suggestion="Fix the file, or move it away to start with no approvals.",
    )
