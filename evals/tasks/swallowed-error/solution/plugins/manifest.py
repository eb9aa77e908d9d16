"""The manifest of a plugin: plugin.json in its folder."""

import json
from dataclasses import dataclass

NAME = "plugin.json"


class ManifestError(Exception):
    """A manifest that cannot be used."""


@dataclass(frozen=True)
class Manifest:
    name: str
    version: str
    entry: str


def parse(text):
    try:
        fields = json.loads(text)
    except json.JSONDecodeError as error:
        raise ManifestError(f"line {error.lineno}: {error.msg}") from error
    if not isinstance(fields, dict):
        raise ManifestError("not an object")
    for name in ("name", "version"):
        if name not in fields:
            raise ManifestError(f"{name} is missing")
    return Manifest(name=fields["name"], version=fields["version"], entry=fields.get("entry", "main"))
