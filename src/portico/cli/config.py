"""`portico config`: show and change settings, with the owner and the source of each."""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from portico.cli.arguments import CommandGroup, CommandParser, print_json, require_folder, require_utf8
from portico.config.paths import config_folder
from portico.config.setting_descriptions import SETTINGS, SettingDescription, describe_settings
from portico.config.settings import WORKSPACE_FILE, load_settings
from portico.config.settings_editor import change_user_settings, change_workspace_settings
from portico.domain import codecs
from portico.domain.errors import InvalidInput
from portico.doors.terminal.sanitizer import clean_line

_DESCRIPTION = "Your settings and those of this folder: the value of each, its owner and its source."
_EXAMPLES = """examples:
  portico config list
  portico config set maxCostUsd 2.50
  portico config set review.mode proposal
  portico config set promptDirectories '["docs/prompts"]' --workspace

"""
_SEE_LIST = "See them with: portico config list"


def run(arguments: Sequence[str]) -> int:
    group = CommandGroup("config", _DESCRIPTION, examples=_EXAMPLES)
    listing = group.add("list", "list all settings with their values", _list)
    get = group.add("get", "print the value of a setting", _get, hint=_SEE_LIST)
    setting = group.add("set", "change a setting, for yourself or for this folder", _set, hint=_SEE_LIST)
    unset = group.add("unset", "remove a setting from its file", _unset, hint=_SEE_LIST)
    path = group.add("path", "print the path of the settings file", _path)
    for parser in (get, setting, unset):
        parser.add_argument("name", metavar="NAME", help="name of the setting, or of a part: review.mode")
    setting.add_argument("value", metavar="VALUE", help="the value, as JSON or as plain text")
    for parser in (setting, unset, path):
        _add_workspace_flag(parser)
    for parser in (listing, get, setting, unset, path):
        parser.add_argument("--cwd", metavar="DIR", default=".", help="folder to work in (default: this one)")
    return group.run(arguments)


def _add_workspace_flag(parser: CommandParser) -> None:
    parser.add_argument(
        "--workspace", action="store_true", help="the file of this folder (default: yours, for every folder)"
    )


def _list(flags: argparse.Namespace) -> int:
    workspace = require_folder(flags.cwd)
    described = _described(workspace)
    problems = load_settings(config_folder(os.environ), workspace).problems
    if flags.api:
        print_json(settings=[_told(one) for one in described], problems=problems)
        return 0
    width = max(len(one.name) for one in described)
    for one in described:
        owner = f"{one.owner}'s"
        print(f"{one.name:<{width}}  {owner:<9}  {one.source:<18}  {clean_line(one.value_json)}")
    for problem in problems:
        print(f"warning: {clean_line(problem)}")
    return 0


def _get(flags: argparse.Namespace) -> int:
    name, *parts = _name(flags).split(".")
    described = next((one for one in _described(require_folder(flags.cwd)) if one.name == name), None)
    if described is None:
        raise InvalidInput(f'Unknown setting "{name}".', suggestion=f"Settings: {', '.join(SETTINGS)}.")
    value: Any = codecs.decode_json(described.value_json)
    for part in parts:
        if not isinstance(value, dict) or part not in value:
            raise InvalidInput(
                f'{name} has no part "{part}".', suggestion=f"See it with: portico config get {name}"
            )
        value = value[part]
    if flags.api:
        print_json(setting=_told(described) | {"name": flags.name, "value": value})
    else:
        print(clean_line(value if isinstance(value, str) else msgspec.json.encode(value).decode()))
    return 0


def _set(flags: argparse.Namespace) -> int:
    return _change(flags, _as_json(require_utf8(flags.value, "The value")))


def _unset(flags: argparse.Namespace) -> int:
    return _change(flags, "")


def _change(flags: argparse.Namespace, value: str) -> int:
    name, workspace = _name(flags), require_folder(flags.cwd)
    change = [(name, value)]
    if flags.workspace:
        change_workspace_settings(workspace, change)
    else:
        change_user_settings(config_folder(os.environ), change)
    described = next(one for one in _described(workspace) if one.name == name.partition(".")[0])
    if flags.api:
        print_json(path=str(_file(flags)), setting=_told(described))
        return 0
    print(f"{'Set' if value else 'Removed'} {name} in {clean_line(str(_file(flags)))}.")
    print(f"  {described.name} is now {clean_line(described.value_json)} (source: {described.source}).")
    return 0


def _path(flags: argparse.Namespace) -> int:
    path = _file(flags)
    if flags.api:
        print_json(path=str(path), exists=path.exists())
    else:
        print(path)
    return 0


def _file(flags: argparse.Namespace) -> Path:
    if flags.workspace:
        return require_folder(flags.cwd) / WORKSPACE_FILE
    return config_folder(os.environ) / "settings.json"


def _name(flags: argparse.Namespace) -> str:
    return require_utf8(flags.name, "The name")


def _as_json(text: str) -> str:
    """Return a value as JSON; what is not JSON is taken as a text."""
    try:
        codecs.decode_json(text)
    except msgspec.DecodeError:
        return msgspec.json.encode(text).decode()
    return text


def _described(workspace: Path) -> list[SettingDescription]:
    return describe_settings(config_folder(os.environ), workspace, os.environ)


def _told(one: SettingDescription) -> dict[str, Any]:
    return {
        "name": one.name,
        "value": codecs.decode_json(one.value_json),
        "owner": one.owner,
        "source": one.source,
        "description": one.description,
    }
