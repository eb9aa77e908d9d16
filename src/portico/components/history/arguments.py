"""Arguments of the history tools, with the descriptions that the model reads."""

from typing import Annotated

import msgspec
from msgspec import Meta

_Path = Annotated[
    str,
    Meta(
        description="A file or folder, relative to the folder you work in; leave it out for all of it.",
        max_length=4096,
    ),
]
_File = Annotated[
    str, Meta(description="A file, relative to the folder you work in.", min_length=1, max_length=4096)
]
_Revision = Annotated[
    str, Meta(description="A commit, branch or tag; HEAD if left out.", min_length=1, max_length=500)
]
_Offset = Annotated[
    int, Meta(description="Where to go on, as the page before says; counts from 1.", ge=1, le=10_000_000)
]
_Count = Annotated[int, Meta(description="How many commits to list.", ge=1, le=100)]


class LogQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: _Path = ""
    revision: Annotated[
        str,
        Meta(
            description="Where to begin: a commit, branch or tag, or a range as main..topic.",
            min_length=1,
            max_length=500,
        ),
    ] = "HEAD"
    author: Annotated[str, Meta(description="A part of the author's name or address.", max_length=200)] = ""
    message: Annotated[str, Meta(description="A text that the message has in it.", max_length=500)] = ""
    count: _Count = 30
    offset: _Offset = 1


class BlameQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: _File
    first_line: Annotated[int, Meta(description="The first line, counting from 1.", ge=1)] = 1
    count: Annotated[int, Meta(description="How many lines.", ge=1, le=400)] = 100
    revision: _Revision = "HEAD"


class ShowQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    revision: _Revision = "HEAD"
    path: _Path = ""
    content: Annotated[
        bool, Meta(description="The whole file at path as it was then, instead of what the commit changed.")
    ] = False
    offset: _Offset = 1


class DiffQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    base: _Revision = "HEAD"
    target: Annotated[
        str,
        Meta(
            description="What to compare with base; leave it out for the files as they are now.",
            max_length=500,
        ),
    ] = ""
    path: _Path = ""
    offset: _Offset = 1


class PickaxeQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    text: Annotated[
        str,
        Meta(description="The text, or the regular expression, to look for.", min_length=1, max_length=1000),
    ]
    regex: Annotated[
        bool,
        Meta(
            description="Find commits with a changed line that matches text as a regular expression (git log -G). "
            "Otherwise find those that changed how often text occurs (git log -S)."
        ),
    ] = False
    path: _Path = ""
    revision: _Revision = "HEAD"
    count: _Count = 20
    offset: _Offset = 1


class ExpertQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: _Path = ""
    revision: _Revision = "HEAD"
