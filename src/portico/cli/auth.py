"""`portico auth`: store, remove and list the API keys of model providers in the system keyring."""

import argparse
import getpass
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from portico.app.program_log import configure_log
from portico.cli.arguments import CommandGroup, print_json
from portico.config.paths import config_folder, state_folder
from portico.config.secrets import Secrets, system_keyring
from portico.config.settings import load_settings
from portico.domain.errors import AuthRequired, InvalidInput
from portico.porter.models.keys import find_key
from portico.porter.models.providers import ModelProvider, find_provider, providers

_DESCRIPTION = "API keys of model providers, kept in the system keyring."
_EXAMPLES = """examples:
  portico auth login anthropic
  portico auth login anthropic < key.txt
  portico auth check

A key in the environment (ANTHROPIC_API_KEY, …) comes first. To sign in to an agent: portico agents login
"""
_SEE_STATUS = "See the providers with: portico auth status"
_MAX_KEY = 16 * 1024
_MARKS = {"accepted": "✓", "refused": "✗", "unknown": "·"}


class KeyStatus(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The location of a provider's key, if it has one; never the key itself."""

    provider: str
    variable: str
    source: str | None = None
    problem: str | None = None


class CheckedKey(msgspec.Struct, frozen=True):
    """Answer of a provider about its key."""

    provider: str
    variable: str
    source: str
    verdict: str
    detail: str


def run(arguments: Sequence[str]) -> int:
    group = CommandGroup("auth", _DESCRIPTION, examples=_EXAMPLES)
    status = group.add("status", "show where the key of each provider is", _status)
    status.add_argument("provider", metavar="PROVIDER", nargs="?", help="provider to show (default: all)")
    for name, summary, action in (
        ("login", "store the key of a provider, typed or piped", _login),
        ("logout", "remove the key of a provider", _logout),
    ):
        parser = group.add(name, summary, action, hint=_SEE_STATUS)
        parser.add_argument("provider", metavar="PROVIDER", help="provider, such as anthropic")
    check = group.add("check", "check the keys with their providers; rejected keys are removed", _check)
    check.add_argument(
        "provider", metavar="PROVIDER", nargs="?", help="provider to check with (default: all)"
    )
    configure_log()
    return group.run(arguments)


def _status(flags: argparse.Namespace) -> int:
    found = [_where(provider, os.environ) for provider in _chosen(flags) if provider.key_variables]
    if flags.api:
        print_json(keys=found)
        return 0
    width = max((len(one.provider) for one in found), default=0)
    for one in found:
        missing = one.problem or f"no key; {one.variable} is not set"
        where = f"{one.variable} in the {one.source}" if one.source else missing
        print(f"{'✓' if one.source else '·'} {one.provider:<{width}}  {where}")
    return 0


def _chosen(flags: argparse.Namespace) -> list[ModelProvider]:
    models = load_settings(config_folder(os.environ), Path.cwd()).models
    return [find_provider(flags.provider, models)] if flags.provider else list(providers(models).values())


def _check(flags: argparse.Namespace) -> int:
    from portico.app.provider_check import ask_provider

    found = []
    for provider in _chosen(flags):
        key = find_key(provider, os.environ)
        if key is not None:
            answer = ask_provider(provider, key.value, os.environ)
            found.append(CheckedKey(provider.name, key.variable, key.source, answer.verdict, answer.detail))
    if not flags.api:
        for one in found:
            print(f"{_MARKS[one.verdict]} {one.provider}  {one.detail or 'accepted'}")
        if not found:
            print("No keys are stored.")
    # After the person was told.
    refused = sorted({one.variable for one in found if one.verdict == "refused" and one.source == "keyring"})
    for variable in refused:
        Secrets(_names_file(os.environ), system_keyring()).keep(variable, "")
    if flags.api:
        print_json(keys=found, removed=refused)
    elif refused:
        print(f"Removed from the keyring: {', '.join(refused)}.")
    return 0


def _keyed_provider(name: str) -> ModelProvider:
    provider = find_provider(name, load_settings(config_folder(os.environ), Path.cwd()).models)
    if not provider.key_variables:
        raise InvalidInput(
            f"{provider.name} needs no key.",
            suggestion=f"Use it directly: portico models use {provider.name}:MODEL",
        )
    return provider


def _where(provider: ModelProvider, environ: Mapping[str, str]) -> KeyStatus:
    status = KeyStatus(provider=provider.name, variable=provider.key_variables[0])
    try:
        key = find_key(provider, environ)
    except AuthRequired as error:
        return msgspec.structs.replace(status, problem=error.message)
    return (
        status if key is None else msgspec.structs.replace(status, variable=key.variable, source=key.source)
    )


def _login(flags: argparse.Namespace) -> int:
    provider, environ = _keyed_provider(flags.provider), os.environ
    variable = provider.key_variables[0]
    keyring = system_keyring()
    if keyring is None:
        raise AuthRequired(
            "No keyring is available on this machine.",
            suggestion=f"Set {variable} in the environment, or install one: pip install 'portico[keyring]'",
        )
    from portico.app.provider_check import ask_provider

    key = _ask_key(provider)
    answer = ask_provider(provider, key, environ)
    if answer.verdict == "refused":
        raise AuthRequired(f"{answer.detail} It was not stored.", suggestion="Check it, or make a new one.")
    Secrets(_names_file(environ), keyring).keep(variable, key)
    if flags.api:
        print_json(provider=provider.name, variable=variable, source="keyring", verdict=answer.verdict)
        return 0
    print(
        f"Stored the key of {provider.name} in the keyring. Try it: portico models check {provider.name}:MODEL"
    )
    if answer.verdict == "unknown":
        print(f"It could not be checked: {answer.detail}")
    if environ.get(variable):
        print(f"{variable} is also set in the environment, which comes first.")
    return 0


def _logout(flags: argparse.Namespace) -> int:
    provider, environ = _keyed_provider(flags.provider), os.environ
    secrets = Secrets(_names_file(environ), system_keyring())
    kept = [variable for variable in provider.key_variables if variable in secrets.names()]
    for variable in kept:
        secrets.keep(variable, "")
    left = [variable for variable in provider.key_variables if environ.get(variable)]
    if flags.api:
        print_json(provider=provider.name, removed=kept, in_environment=left)
        return 0
    print(
        f"Removed the key of {provider.name} from the keyring."
        if kept
        else "There was no key in the keyring."
    )
    if left:
        print(f"{left[0]} is still set in the environment.")
    return 0


def _ask_key(provider: ModelProvider) -> str:
    if sys.stdin.isatty():
        key = getpass.getpass(f"Key of {provider.name} (input is hidden): ")
    else:
        key = sys.stdin.read(_MAX_KEY + 1)
    if not key.strip():
        raise InvalidInput("No key was given.", suggestion="Paste it when asked, or send it through a pipe.")
    return key.strip()


def _names_file(environ: Mapping[str, str]) -> Path:
    return state_folder(environ) / "secrets.json"
