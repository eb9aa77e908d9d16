"""Arguments of the package tools, with the descriptions that the model reads.

The tools of a research session work in one package, so theirs are the same without its name.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from portico.components.packages.package import Ecosystem

_Place = Annotated[str, Meta(description="A file or folder inside the package.", max_length=1000)]


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


class NamedPackage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    ecosystem: _Registry
    name: _Name
    version: _Version = ""


class FolderToList(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: _Place = ""


class TextToFind(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    query: Annotated[str, Meta(description="The text to find.", min_length=1, max_length=1000)]
    regex: Annotated[bool, Meta(description="Whether query is a regular expression.")] = False
    ignore_case: bool = False
    path: _Place = ""
    glob: Annotated[str, Meta(description="A pattern for names of files, such as *.py.", max_length=200)] = ""


class LinesToRead(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="A file inside the package.", min_length=1, max_length=1000)]
    line: Annotated[int, Meta(description="The first line, counting from 1.", ge=1)] = 1
    lines: Annotated[int, Meta(description="How many lines.", ge=1, le=2000)] = 250


class ListPackage(FolderToList, frozen=True, kw_only=True):
    ecosystem: _Registry
    name: _Name
    version: _Version = ""


class SearchPackage(TextToFind, frozen=True, kw_only=True):
    ecosystem: _Registry
    name: _Name
    version: _Version = ""


class ReadPackage(LinesToRead, frozen=True, kw_only=True):
    ecosystem: _Registry
    name: _Name
    version: _Version = ""


class AskAboutPackage(NamedPackage, frozen=True, kw_only=True):
    question: Annotated[
        str,
        Meta(description="What you want to know, in a sentence or two.", min_length=3, max_length=2000),
    ]


class ReturnedFindings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    findings: Annotated[
        str,
        Meta(
            description="The answer in Markdown, short and exact, with the files and lines that show it.",
            min_length=1,
            max_length=100_000,
        ),
    ]
