"""Secrets for agents, stored in the system's keyring or in memory.

They are only passed on as environment variables of an agent. A file lists their names, because a keyring cannot
list its entries.
"""

import json
import logging
import os
import re
from pathlib import Path
from typing import Literal, Protocol

from portico.domain.errors import AuthRequired, InvalidInput
from portico.files.locks import locked
from portico.files.private import make_private_folder

log = logging.getLogger(__name__)

KEYRING_SERVICE = "portico"
SecretStorage = Literal["keyring", "memory"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_FORBIDDEN = {"PATH", "HOME", "LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONPATH", "NODE_OPTIONS", "SHELL"}
_MAX_VALUE = 16 * 1024


class Keyring(Protocol):
    """The part of the `keyring` package that is used."""

    def get_password(self, service: str, name: str) -> str | None: ...

    def set_password(self, service: str, name: str, value: str) -> None: ...

    def delete_password(self, service: str, name: str) -> None: ...


class Secrets:
    def __init__(self, names_file: Path, keyring: Keyring | None) -> None:
        self._names_file = names_file
        self._keyring = keyring
        self._memory: dict[str, str] = {}

    def keep(self, name: str, value: str) -> SecretStorage:
        """Store a secret under the name of an environment variable, or remove it if empty.

        Raises AuthRequired if the keyring is locked.
        """
        _check(name, value)
        self._memory.pop(name, None)
        if self._keyring is None:
            if value:
                self._memory[name] = value
            return "memory"
        names = self.names()
        try:
            if value:
                self._keyring.set_password(KEYRING_SERVICE, name, value)
                names.add(name)
            elif name in names:
                self._keyring.delete_password(KEYRING_SERVICE, name)
                names.discard(name)
        except _keyring_errors() as error:
            raise _locked(name, error) from error
        self._keep_names(names)
        return "keyring"

    def environment(self) -> dict[str, str]:
        """Return all secrets as environment variables. Those in a locked keyring are missing."""
        found = dict(self._memory)
        for name in sorted(self.names()) if self._keyring is not None else ():
            try:
                value = self.value(name)
            except AuthRequired as error:
                log.warning("%s", error.message)
                continue
            if value:
                found[name] = value
        return found

    def value(self, name: str) -> str | None:
        """Return one secret. Raises AuthRequired if the keyring is locked."""
        if self._keyring is None or name not in self.names():
            return self._memory.get(name)
        try:
            return self._keyring.get_password(KEYRING_SERVICE, name)
        except _keyring_errors() as error:
            raise _locked(name, error) from error

    def names(self) -> set[str]:
        """Return the names of the secrets in the keyring, without opening it."""
        try:
            names = json.loads(self._names_file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return set()
        except (OSError, ValueError) as error:
            log.warning("cannot read the names of secrets: %s", error)
            return set()
        if not isinstance(names, list):
            log.warning("the names of secrets are not a list")
            return set()
        return {name for name in names if isinstance(name, str) and _NAME.fullmatch(name)}

    def _keep_names(self, names: set[str]) -> None:
        make_private_folder(self._names_file.parent)
        with locked(self._names_file.with_suffix(".lock")):
            fresh = self._names_file.with_suffix(".new")
            descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(sorted(names), file)
            fresh.replace(self._names_file)


def system_keyring() -> Keyring | None:
    """Return the system's keyring; None if there is no secure one."""
    try:
        import keyring
        from keyring.backends import fail
    except ImportError:
        return None
    backend = keyring.get_keyring()
    return None if isinstance(backend, fail.Keyring) else backend


def _keyring_errors() -> tuple[type[Exception], ...]:
    try:
        from keyring.errors import KeyringError
    except ImportError:
        return ()
    return (KeyringError,)


def _locked(name: str, error: Exception) -> AuthRequired:
    return AuthRequired(
        f"The keyring cannot read or store {name}: {error}",
        suggestion=f"Unlock it, or set {name} in the environment.",
    )


def _check(name: str, value: str) -> None:
    if not _NAME.fullmatch(name) or name.upper() in _FORBIDDEN:
        raise InvalidInput(
            f"{name!r} is not a valid name for a secret.",
            suggestion="Use the name of the environment variable that the agent reads.",
        )
    if len(value) > _MAX_VALUE or any(ord(letter) < 32 for letter in value):
        raise InvalidInput("A secret must be one line of text.", suggestion="Paste only the key.")
