"""`portico devices`: list and revoke paired devices."""

import argparse
import os
from collections.abc import Sequence

from portico.cli.arguments import CommandGroup, print_json
from portico.config.devices import DeviceFile
from portico.config.paths import state_folder
from portico.domain.timestamps import format_time


def run(arguments: Sequence[str]) -> int:
    group = CommandGroup("devices", "Phones and browsers that are paired with your server.")
    group.add("list", "list the devices, with their roles and folders", _list)
    revoke = group.add("revoke", "disconnect a device for good, at once", _revoke)
    revoke.add_argument("device", metavar="DEVICE", help="ID or name of the device")
    return group.run(arguments)


def _list(flags: argparse.Namespace) -> int:
    devices = _file().devices()
    if flags.api:
        print_json(
            devices=[
                {
                    "id": one.device_id,
                    "name": one.name,
                    "role": one.role,
                    "workspaces": list(one.workspaces),
                    "pairedAt": format_time(one.paired_at),
                }
                for one in devices
            ]
        )
    elif not devices:
        print("No device is paired. Pair one with: portico pair")
    for one in devices if not flags.api else ():
        folders = f"  {', '.join(one.workspaces)}" if one.workspaces else ""
        print(f"{one.device_id}  {one.name}  {one.role}  since {format_time(one.paired_at)}{folders}")
    return 0


def _revoke(flags: argparse.Namespace) -> int:
    revoked = _file().revoke(flags.device)
    if flags.api:
        print_json(revoked=revoked.device_id)
    else:
        print(f"Revoked: {revoked.name}.")
    return 0


def _file() -> DeviceFile:
    return DeviceFile(state_folder(dict(os.environ)))
