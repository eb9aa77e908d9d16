"""`portico auth`: store, remove and list the API keys of model providers in the system keyring."""

import argparse
import getpass
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from portico.app.error_report import configure_log
from portico.cli.arguments import CommandParser
from portico.config.paths import config_folder, state_folder
from portico.config.secrets import Secrets, system_keyring
from portico.config.settings import load_settings
from portico.domain.errors import AuthRequired, InvalidInput
from portico.porter.models.keys import find_key
from portico.porter.models.providers import ModelProvider, find_provider, providers

_DESCRIPTION = """Keys for the providers of models. They are kept in the keyring of the system.

  portico auth status
  portico auth login anthropic      asks for the key; or reads it from a pipe
  portico auth logout anthropic

A key in the environment (ANTHROPIC_API_KEY, …) comes first. To sign in to another agent: portico agents login
"""
_MAX_KEY = 16 * 1024


class KeyStatus(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where the key of a provider is, if there is one. Never the key."""

    provider: str
    variable: str
    source: str | None = None
    problem: str | None = None


def run(arguments: Sequence[str]) -> int:
    parser = CommandParser("auth", _DESCRIPTION)
    parser.add_argument("action", choices=["login", "logout", "status"])
    parser.add_argument("provider", nargs="?", help="whose key it is, as in anthropic")
    flags = parser.parse_intermixed_args(arguments)
    configure_log()
    environ = dict(os.environ)
    settings = load_settings(config_folder(environ), Path.cwd())
    if flags.action == "status":
        known = providers(settings.models)
        chosen = [find_provider(flags.provider, settings.models)] if flags.provider else list(known.values())
        return _status(chosen, environ, flags)
    if not flags.provider:
        raise InvalidInput(
            f"portico auth {flags.action} needs a provider.", suggestion="See them with: portico auth status"
        )
    provider = find_provider(flags.provider, settings.models)
    if not provider.key_variables:
        raise InvalidInput(
            f"{provider.name} needs no key.",
            suggestion=f"Use it at once: portico models use {provider.name}:MODEL",
        )
    return _login(provider, environ, flags) if flags.action == "login" else _logout(provider, environ, flags)


def _status(chosen: Sequence[ModelProvider], environ: Mapping[str, str], flags: argparse.Namespace) -> int:
    found = [_where(provider, environ) for provider in chosen if provider.key_variables]
    if flags.api:
        _print_json({"status": "ok", "keys": found})
        return 0
    width = max((len(one.provider) for one in found), default=0)
    for one in found:
        missing = one.problem or f"no key; {one.variable} is not set"
        where = f"{one.variable} in the {one.source}" if one.source else missing
        print(f"{'✓' if one.source else '·'} {one.provider:<{width}}  {where}")
    return 0


def _where(provider: ModelProvider, environ: Mapping[str, str]) -> KeyStatus:
    status = KeyStatus(provider=provider.name, variable=provider.key_variables[0])
    try:
        key = find_key(provider, environ)
    except AuthRequired as error:
        return msgspec.structs.replace(status, problem=error.message)
    return (
        status if key is None else msgspec.structs.replace(status, variable=key.variable, source=key.source)
    )


def _login(provider: ModelProvider, environ: Mapping[str, str], flags: argparse.Namespace) -> int:
    variable = provider.key_variables[0]
    keyring = system_keyring()
    if keyring is None:
        raise AuthRequired(
            "This machine has no keyring that Portico could keep a key in.",
            suggestion=f"Set {variable} in the environment, or install one: pip install 'portico[keyring]'",
        )
    secrets = Secrets(_names_file(environ), keyring)
    secrets.keep(variable, _ask_key(provider))
    if flags.api:
        _print_json({"status": "ok", "provider": provider.name, "variable": variable, "source": "keyring"})
        return 0
    print(f"The key of {provider.name} is in the keyring. Try it: portico models check {provider.name}:MODEL")
    if environ.get(variable):
        print(f"{variable} is set in the environment as well, and comes first.")
    return 0


def _logout(provider: ModelProvider, environ: Mapping[str, str], flags: argparse.Namespace) -> int:
    secrets = Secrets(_names_file(environ), system_keyring())
    kept = [variable for variable in provider.key_variables if variable in secrets.names()]
    for variable in kept:
        secrets.keep(variable, "")
    left = [variable for variable in provider.key_variables if environ.get(variable)]
    if flags.api:
        _print_json({"status": "ok", "provider": provider.name, "removed": kept, "in_environment": left})
        return 0
    print(
        f"The key of {provider.name} is gone from the keyring."
        if kept
        else "There was no key in the keyring."
    )
    if left:
        print(f"{left[0]} is still set in the environment.")
    return 0


def _ask_key(provider: ModelProvider) -> str:
    if sys.stdin.isatty():
        key = getpass.getpass(f"Key of {provider.name} (nothing is shown): ")
    else:
        key = sys.stdin.read(_MAX_KEY + 1)
    if not key.strip():
        raise InvalidInput("No key was given.", suggestion="Paste it when asked, or send it through a pipe.")
    return key.strip()


def _names_file(environ: Mapping[str, str]) -> Path:
    return state_folder(environ) / "secrets.json"


def _print_json(value: object) -> None:
    print(msgspec.json.encode(value).decode())
