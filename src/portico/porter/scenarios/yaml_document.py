"""Reads a small YAML file as plain data, with the line number of each value.

Only what settings need: mappings with names, lists, text, numbers, true and false. No anchors, no tags,
so that nothing is built but data and a short file stays short.
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
    """The text is not such a document; `line` counts from one."""

    def __init__(self, why: str, line: int) -> None:
        super().__init__(why)
        self.why = why
        self.line = line


class YamlDocument(msgspec.Struct, frozen=True):
    """`lines` has the line of each value, by the way to it."""

    value: Any
    lines: dict[DocumentPath, int]

    def line_of(self, way: DocumentPath) -> int:
        """The line of a value, or of the nearest one around it that is there."""
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
        words = error.problem or error.context or "It is not YAML."
        raise InvalidDocument(f"This is not YAML: {words}.", mark.line + 1 if mark else 1) from error
    except (yaml.YAMLError, RecursionError) as error:
        raise InvalidDocument("This is not YAML that can be read here.", 1) from error
    if node is None:
        raise InvalidDocument("The file is empty.", 1)
    lines: dict[DocumentPath, int] = {}
    return YamlDocument(_plain(node, (), lines), lines)


def _refuse_what_grows(text: str) -> None:
    """Looks before anything is built: a deep document could end the process, an alias makes a short one long."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise InvalidDocument("Anchors and aliases are not read here.", line)
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _DEEPEST:
            raise InvalidDocument(f"It is nested more than {_DEEPEST} deep.", line)


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
            raise InvalidDocument("A name must be plain text.", line)
        if key.value in found:
            raise InvalidDocument(f"{key.value!r} stands here twice.", line)
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
