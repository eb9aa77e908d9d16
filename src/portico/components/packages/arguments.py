"""Arguments of the package tools, with the descriptions that the model reads."""

from typing import Annotated

import msgspec
from msgspec import Meta

from portico.components.packages.package import Ecosystem

_Registry = Annotated[
    Ecosystem, Meta(description="The registry: crates (Rust), pypi (Python), npm, go (modules) or maven.")
]
_Name = Annotated[
    str,
    Meta(
        description="The name in that registry: serde, requests, @types/node, golang.org/x/text, "
        "org.slf4j:slf4j-api.",
        min_length=1,
        max_length=300,
    ),
]
_Version = Annotated[
    str,
    Meta(
        description="A version or range. Leave it out for the version that the workspace uses, or the latest.",
        max_length=200,
    ),
]
_Place = Annotated[str, Meta(description="A file or folder inside the package.", max_length=1000)]


class OfPackage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    ecosystem: _Registry
    name: _Name
    version: _Version = ""


class InPackage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    ecosystem: _Registry
    name: _Name
    version: _Version = ""
    path: _Place = ""


class SearchPackage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    ecosystem: _Registry
    name: _Name
    query: Annotated[str, Meta(description="The text to find.", min_length=1, max_length=1000)]
    version: _Version = ""
    regex: Annotated[bool, Meta(description="Whether query is a regular expression.")] = False
    ignore_case: bool = False
    path: _Place = ""
    glob: Annotated[str, Meta(description="A pattern for names of files, such as *.py.", max_length=200)] = ""


class ReadPackage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    ecosystem: _Registry
    name: _Name
    path: Annotated[str, Meta(description="A file inside the package.", min_length=1, max_length=1000)]
    version: _Version = ""
    line: Annotated[int, Meta(description="The first line, counting from 1.", ge=1)] = 1
    lines: Annotated[int, Meta(description="How many lines.", ge=1, le=2000)] = 250
