"""Reads a small YAML file as plain data, with the line number of each value.

A subset of YAML: mappings with text keys, lists, text, numbers, true and false. No anchors and no tags, so that
nothing but data is built and a short file cannot expand.
"""

from typing import Any

import msgspec
import yaml

LARGEST = 64 * 1024
_DEEPEST = 20
_TAG = "tag:yaml.org,2002:"
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

DocumentPath = tuple[str | int, ...]


class InvalidDocument(Exception):
    """The text is not a valid document; `line` counts from 1."""

    def __init__(self, why: str, line: int) -> None:
        super().__init__(why)
        self.why = why
        self.line = line


class YamlDocument(msgspec.Struct, frozen=True):
    """The data of a document; `lines` has the line of each value, by its path."""

    value: Any
    lines: dict[DocumentPath, int]

    def line_of(self, way: DocumentPath) -> int:
        """Return the line of a value, or of its nearest parent."""
        while way and way not in self.lines:
            way = way[:-1]
        return self.lines.get(way, 1)


def read_document(data: bytes) -> YamlDocument:
    if len(data) > LARGEST:
        raise InvalidDocument(f"The file is larger than {LARGEST // 1024} KB.", 1)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidDocument("The file is not UTF-8 text.", data.count(b"\n", 0, error.start) + 1) from error
    try:
        _refuse_what_grows(text)
        node = yaml.compose(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        words = error.problem or error.context or "The file is not valid YAML."
        raise InvalidDocument(f"Invalid YAML: {words}.", mark.line + 1 if mark else 1) from error
    except (yaml.YAMLError, RecursionError) as error:
        raise InvalidDocument("The file contains unsupported YAML.", 1) from error
    if node is None:
        raise InvalidDocument("The file is empty.", 1)
    lines: dict[DocumentPath, int] = {}
    return YamlDocument(_plain(node, (), lines), lines)


def _refuse_what_grows(text: str) -> None:
    """Check the document before it is built: deep nesting could crash the process, and aliases expand."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise InvalidDocument("Anchors and aliases are not supported.", line)
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _DEEPEST:
            raise InvalidDocument(f"The file is nested more than {_DEEPEST} levels deep.", line)


def _plain(node: yaml.Node, way: DocumentPath, lines: dict[DocumentPath, int]) -> Any:
    lines[way] = node.start_mark.line + 1
    match node:
        case yaml.MappingNode(value=pairs):
            return _mapping(pairs, way, lines)
        case yaml.SequenceNode(value=items):
            return [_plain(item, (*way, number), lines) for number, item in enumerate(items)]
        case _:
            return _scalar(node)


def _mapping(
    pairs: list[tuple[yaml.Node, yaml.Node]], way: DocumentPath, lines: dict[DocumentPath, int]
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode):
            raise InvalidDocument("A key must be plain text.", line)
        if key.value in found:
            raise InvalidDocument(f"Duplicate key {key.value!r}.", line)
        found[key.value] = _plain(value, (*way, key.value), lines)
        lines[(*way, key.value)] = line
    return found


def _scalar(node: yaml.Node) -> Any:
    text: str = node.value
    match node.tag.removeprefix(_TAG):
        case "str":
            return text
        case "bool":
            return text.lower() in ("true", "yes", "on")
        case "null":
            return None
        case "int" if text.isascii() and text.lstrip("-").isdigit() and len(text) < 19:
            return int(text)
        case _:
            raise InvalidDocument(
                f"{text[:40]!r} is neither text nor a whole number.", node.start_mark.line + 1
            )
