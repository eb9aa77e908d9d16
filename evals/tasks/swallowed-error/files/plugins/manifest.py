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
    fields = json.loads(text)
    return Manifest(name=fields["name"], version=fields["version"], entry=fields.get("entry", "main"))
