"""Front matter: the YAML between two lines of `---` at the beginning of a Markdown file.

It is a subset of YAML: every value is text, and anchors are refused, so that a short file cannot expand.
"""

import re
from collections.abc import Iterator

import yaml

_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_FENCE = re.compile(r"^---[ \t]*$", re.MULTILINE)
_DEEPEST = 20
_BEFORE = 2  # Front matter begins on the second line of the file, and YAML counts lines from 0.


class InvalidFrontMatter(Exception):
    """The front matter is malformed; `line` counts from 1 in the file."""

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


def split_document(text: str) -> tuple[yaml.Node | None, str, int]:
    """Split a file into front matter, text and the line of the text. None if it has no front matter."""
    opening = _FENCE.match(text)
    if opening is None:
        return None, text, 1
    closing = _FENCE.search(text, opening.end())
    if closing is None:
        raise InvalidFrontMatter("the front matter has no closing ---", 1)
    content = text[opening.end() + 1 : closing.start()]
    return _parsed(content), text[closing.end() + 1 :], text.count("\n", 0, closing.end()) + 2


def pairs(node: yaml.Node, what: str) -> Iterator[tuple[str, yaml.Node]]:
    """The keys and values of a mapping."""
    if not isinstance(node, yaml.MappingNode):
        raise InvalidFrontMatter(f"{what} must be a mapping of keys to values", line_of(node))
    seen: set[str] = set()
    for key, value in node.value:
        name = text_of(key, "a name")
        if name in seen:
            raise InvalidFrontMatter(f"duplicate key {name!r}", line_of(key))
        seen.add(name)
        yield name, value


def text_of(node: yaml.Node, what: str) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise InvalidFrontMatter(f"{what} must be text", line_of(node))
    text: str = node.value
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidFrontMatter(f"{what} contains an invalid character", line_of(node)) from error
    return text


def is_empty(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and not node.value


def line_of(node: yaml.Node) -> int:
    return int(node.start_mark.line) + _BEFORE


def _parsed(text: str) -> yaml.Node | None:
    try:
        _refuse_what_grows(text)
        node: yaml.Node | None = yaml.compose(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        words = error.problem or error.context or "it cannot be read"
        raise InvalidFrontMatter(
            f"the front matter is not valid YAML: {words}", mark.line + _BEFORE if mark else 1
        ) from error
    # The last two are raised by the pure Python parser for invalid characters.
    except (yaml.YAMLError, RecursionError, ValueError, OverflowError) as error:
        raise InvalidFrontMatter("the front matter contains unsupported YAML", 1) from error
    return node


def _refuse_what_grows(text: str) -> None:
    """Check the document before it is built: deep nesting could crash the process, and aliases expand."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        line = event.start_mark.line + _BEFORE
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise InvalidFrontMatter("anchors and aliases are not supported in front matter", line)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise InvalidFrontMatter(f"the front matter is nested more than {_DEEPEST} levels deep", line)
