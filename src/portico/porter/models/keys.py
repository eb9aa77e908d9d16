"""Finds the API key of a provider in the environment or the system keyring."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from portico.config.paths import state_folder
from portico.config.secrets import Secrets, system_keyring
from portico.domain.errors import AuthRequired
from portico.porter.models.providers import ModelProvider

KeySource = Literal["environment", "keyring"]


class ProviderKey(msgspec.Struct, frozen=True):
    """A key and where it was found. Its value is not part of its repr."""

    variable: str
    source: KeySource
    value: str

    def __repr__(self) -> str:
        return f"Key({self.variable!r}, {self.source!r})"


def find_key(provider: ModelProvider, environ: Mapping[str, str]) -> ProviderKey | None:
    """Find the key of a provider. The keyring, which is slow, is opened only if it has the key."""
    for variable in provider.key_variables:
        if value := environ.get(variable, "").strip():
            return ProviderKey(variable, "environment", value)
    names_file = state_folder(environ) / "secrets.json"
    kept = [name for name in provider.key_variables if name in Secrets(names_file, None).names()]
    if kept:
        secrets = Secrets(names_file, system_keyring())
        for variable in kept:
            if secret := secrets.value(variable):
                return ProviderKey(variable, "keyring", secret)
    return None


def has_key(provider: ModelProvider, environ: Mapping[str, str]) -> bool:
    """Return whether there is a key; false if the keyring cannot be opened."""
    try:
        return find_key(provider, environ) is not None
    except AuthRequired:
        return False


def need_key(provider: ModelProvider, environ: Mapping[str, str]) -> str | None:
    """Return the key; None for a provider that needs none. Raises AuthRequired if it is missing."""
    found = find_key(provider, environ)
    if found is None and provider.needs_key:
        raise AuthRequired(
            f"No key for {provider.name}.",
            suggestion=f"Set {provider.key_variables[0]}, or store a key with: portico auth login {provider.name}",
        )
    return found.value if found else None
