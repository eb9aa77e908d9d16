"""Arguments of the code tools, with the descriptions that the model reads."""

from typing import Annotated

import msgspec
from msgspec import Meta

_Path = Annotated[
    str, Meta(description="A file, absolute or relative to the folder you work in.", min_length=1)
]


class AboutName(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: _Path
    line: Annotated[int, Meta(description="The line where the name stands, counting from 1.", ge=1)]
    symbol: Annotated[
        str,
        Meta(description="The name, exactly as it is written on that line.", min_length=1, max_length=500),
    ]


class NewName(AboutName, frozen=True, forbid_unknown_fields=True, kw_only=True):
    new_name: Annotated[str, Meta(description="The name that it gets.", min_length=1, max_length=500)]


class ActionAtLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: _Path
    line: Annotated[int, Meta(description="The line, counting from 1.", ge=1)]
    title: Annotated[
        str,
        Meta(
            description="The title of the action to apply, as listed; leave it out to list them.",
            max_length=500,
        ),
    ] = ""


class AboutSymbols(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="The file whose definitions are wanted.")] = ""
    query: Annotated[
        str, Meta(description="A part of a name to look for in the workspace.", max_length=500)
    ] = ""


class AboutFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="One file; leave it out for the whole workspace.")] = ""


class InTerminal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    command: Annotated[
        str,
        Meta(description="The command line, as it is typed into a shell.", min_length=1, max_length=10_000),
    ]
    reason: Annotated[
        str, Meta(description="Why the person has to run this, in a sentence that they read.", max_length=500)
    ] = ""
    cwd: Annotated[
        str, Meta(description="The folder to run it in; leave it out for the person's workspace.")
    ] = ""
    terminal: Annotated[
        str,
        Meta(
            description="Name of the terminal. One of the same name that is idle is used again.",
            max_length=60,
        ),
    ] = ""
    reveal: Annotated[
        bool, Meta(description="Whether to show the terminal at once, because the person has to type there.")
    ] = False
