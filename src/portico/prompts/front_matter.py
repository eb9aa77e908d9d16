"""Front matter of a prompt file: its description and variables.

It is a subset of YAML: every value is text, and anchors are refused, so that a short file cannot expand.
"""

import re
from collections.abc import Iterator

import msgspec
import yaml

from portico.prompts.errors import InvalidPrompt
from portico.prompts.template import VARIABLE_NAME

_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_FENCE = re.compile(r"^---[ \t]*$", re.MULTILINE)
_DEEPEST = 20
_BEFORE = 2  # Front matter begins on the second line of the file, and YAML counts lines from 0.


class PromptVariable(msgspec.Struct, frozen=True, kw_only=True):
    """A variable of a prompt; required if it has no default."""

    name: str
    description: str = ""
    default: str | None = None


class FrontMatter(msgspec.Struct, frozen=True, kw_only=True):
    """The front matter of a prompt; `unknown` has the names of unused keys."""

    description: str = ""
    variables: tuple[PromptVariable, ...] = ()
    unknown: tuple[str, ...] = ()


def split_front_matter(text: str) -> tuple[FrontMatter, str, int]:
    """Split a file into front matter, text and the line of the text. Raises InvalidPrompt if it is malformed."""
    opening = _FENCE.match(text)
    if opening is None:
        return FrontMatter(), text, 1
    closing = _FENCE.search(text, opening.end())
    if closing is None:
        raise InvalidPrompt("the front matter has no closing ---", 1)
    content = text[opening.end() + 1 : closing.start()]
    return _front_matter(content), text[closing.end() + 1 :], text.count("\n", 0, closing.end()) + 2


def _front_matter(text: str) -> FrontMatter:
    root = _parsed(text)
    if root is None:
        return FrontMatter()
    found = dict(_pairs(root, "the front matter"))
    description, variables = found.pop("description", None), found.pop("variables", None)
    return FrontMatter(
        description="" if description is None else _text(description, "description"),
        variables=() if variables is None else _variables(variables),
        unknown=tuple(found),
    )


def _parsed(text: str) -> yaml.Node | None:
    try:
        _refuse_what_grows(text)
        node: yaml.Node | None = yaml.compose(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        words = error.problem or error.context or "it cannot be read"
        raise InvalidPrompt(
            f"the front matter is not valid YAML: {words}", mark.line + _BEFORE if mark else 1
        ) from error
    # The last two are raised by the pure Python parser for invalid characters.
    except (yaml.YAMLError, RecursionError, ValueError, OverflowError) as error:
        raise InvalidPrompt("the front matter contains unsupported YAML", 1) from error
    return node


def _refuse_what_grows(text: str) -> None:
    """Check the document before it is built: deep nesting could crash the process, and aliases expand."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        line = event.start_mark.line + _BEFORE
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise InvalidPrompt("anchors and aliases are not supported in front matter", line)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise InvalidPrompt(f"the front matter is nested more than {_DEEPEST} levels deep", line)


def _variables(node: yaml.Node) -> tuple[PromptVariable, ...]:
    if _is_empty(node):
        return ()
    return tuple(_variable(name, part) for name, part in _pairs(node, "variables"))


def _variable(name: str, node: yaml.Node) -> PromptVariable:
    if VARIABLE_NAME.fullmatch(name) is None:
        raise InvalidPrompt(
            f"{name!r} is not a valid name for a variable: use letters, digits, - and _", _line(node)
        )
    if _is_empty(node):
        return PromptVariable(name=name)
    parts = dict(_pairs(node, name))
    if other := next((part for part in parts if part not in ("description", "default")), None):
        raise InvalidPrompt(
            f"{name} can have a description and a default, but not {other}", _line(parts[other])
        )
    texts = {part: _text(value, f"the {part} of {name}") for part, value in parts.items()}
    return PromptVariable(name=name, description=texts.get("description", ""), default=texts.get("default"))


def _pairs(node: yaml.Node, what: str) -> Iterator[tuple[str, yaml.Node]]:
    if not isinstance(node, yaml.MappingNode):
        raise InvalidPrompt(f"{what} must be a mapping of keys to values", _line(node))
    seen: set[str] = set()
    for key, value in node.value:
        name = _text(key, "a name")
        if name in seen:
            raise InvalidPrompt(f"duplicate key {name!r}", _line(key))
        seen.add(name)
        yield name, value


def _text(node: yaml.Node, what: str) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise InvalidPrompt(f"{what} must be text", _line(node))
    text: str = node.value
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidPrompt(f"{what} contains an invalid character", _line(node)) from error
    return text


def _is_empty(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and not node.value


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + _BEFORE
