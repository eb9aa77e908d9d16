"""Files that a model writes into its answer: code blocks with a path, read as calls of `write` and `edit`.

Small models write code better in Markdown than in the arguments of a call. A path stands before a block, in its first
line, or in the first comment of its code. A block without a path counts if it clearly is a version of one known file.
"""

import difflib
import re
from collections.abc import Iterator, Mapping

import msgspec

_BLOCK = re.compile(
    r"(?:^(?P<before>[^\n`]*`?[^\n`]*`?[^\n`]*)\n\s*)?^[ \t]*```(?P<info>[^\n]*)\n(?P<body>.*?)(?:^[ \t]*```|\Z)",
    re.MULTILINE | re.DOTALL,
)
_PATH = re.compile(r"(?<![\w/.-])([\w][\w./-]*\.[A-Za-z]\w{0,9}|Makefile|Dockerfile)(?![\w/])")
_COMMENT = re.compile(
    r"\s*(?:#|//|--|/\*|<!--)\s*(?:file(?:name)?:?\s*)?\[?(?P<path>[\w./-]+\.\w+):?\]?\s*(?:\*/|-->)?\s*\n",
    re.IGNORECASE,
)
_REPLACEMENT = re.compile(r"^<{5,9} ?SEARCH", re.MULTILINE)
_DEFINITION = re.compile(
    r"^\s*(?:export\s+)?(?:default\s+)?(?:async\s+)?(?:def|class|function|func|type|const)\s+(?:\([^)]*\)\s*)?(\w+)",
    re.M,
)
_SAME = 0.6


class WrittenFile(msgspec.Struct, frozen=True):
    """A file with its new content, which is not `whole` if it leaves out definitions of the known file."""

    path: str
    content: str
    whole: bool = True


def read_files(text: str, known: Mapping[str, str]) -> list[WrittenFile]:
    """Return the files in a text that differ from the known ones, which are given by path with their content."""
    found: dict[str, str] = {}
    for block in _BLOCK.finditer(text):
        body = block["body"]
        if not body.strip() or _REPLACEMENT.search(body):
            continue
        path, body = _located(block["before"] or "", block["info"], body, known)
        if path is not None:
            found[path] = body
    return [
        WrittenFile(path, body, _is_whole(body, known.get(path, "")))
        for path, body in found.items()
        if known.get(path) != body
    ]


def text_before(text: str) -> str:
    """Return the words before the first block."""
    return text.partition("```")[0].strip()


def _located(before: str, info: str, body: str, known: Mapping[str, str]) -> tuple[str | None, str]:
    """Return the path that a block is for, and its code without the path."""
    if (comment := _COMMENT.match(body)) and (path := _known(comment["path"], known)):
        return path, body[comment.end() :]
    named = [name for place in (info, before) for name in _PATH.findall(place)]
    if named:
        return _known(named[0], known) or _fresh(named[0], before), body
    return next(iter(_similar(body, known)), None), body


def _known(name: str, known: Mapping[str, str]) -> str | None:
    """Return the known path that a model means: it may leave out folders, or add some."""
    if name in known:
        return name
    close = [path for path in known if path.endswith(f"/{name}") or name.endswith(f"/{path}")]
    return close[0] if len(close) == 1 else None


def _fresh(name: str, before: str) -> str | None:
    """Return the path of a new file, if it stands alone before its block."""
    alone = before.strip().strip("#*`: ").removeprefix("File:").strip(" `*") == name
    return name if alone and not name.startswith(("/", ".")) and ".." not in name else None


def _similar(body: str, known: Mapping[str, str]) -> Iterator[str]:
    for path, content in known.items():
        if difflib.SequenceMatcher(None, body.splitlines(), content.splitlines()).ratio() >= _SAME:
            yield path


def _is_whole(body: str, content: str) -> bool:
    return set(_DEFINITION.findall(content)) <= set(_DEFINITION.findall(body)) or (
        len(body.splitlines()) >= len(content.splitlines())
    )
