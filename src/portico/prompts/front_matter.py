"""Front matter of a prompt file: its description, its variables and how it wants to be run.

It is a subset of YAML: every value is text, and anchors are refused, so that a short file cannot expand.
"""

import re
from collections.abc import Callable, Iterator
from typing import Literal, TypeVar, get_args

import msgspec
import yaml

from portico.config.model_settings import Allowance, parse_allowance
from portico.domain.errors import InvalidInput
from portico.domain.reviews import ReviewMode
from portico.prompts.errors import InvalidPrompt
from portico.prompts.template import VARIABLE_NAME

_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_FENCE = re.compile(r"^---[ \t]*$", re.MULTILINE)
_DEEPEST = 20
_BEFORE = 2  # Front matter begins on the second line of the file, and YAML counts lines from 0.
_LONGEST = 200
_Value = TypeVar("_Value")

READ_ONLY = "read-only"
PromptMode = Literal["read-only"] | ReviewMode
"""The review mode of a run; `read-only` writes and runs nothing."""
PromptOutput = Literal["chat", "file", "editor"]
"""Where the answer goes: the chat or terminal, a file, or a new editor beside the source."""

_MODES: tuple[PromptMode, ...] = ("read-only", *get_args(ReviewMode))


class PromptVariable(msgspec.Struct, frozen=True, kw_only=True):
    """A variable of a prompt; required if it has no default. An optional one without a default is empty."""

    name: str
    description: str = ""
    default: str | None = None


class FrontMatter(msgspec.Struct, frozen=True, kw_only=True):
    """The front matter of a prompt; `unknown` has the names of unused keys. `name` replaces that of the file."""

    name: str | None = None
    description: str = ""
    tags: tuple[str, ...] = ()
    version: str | None = None
    variables: tuple[PromptVariable, ...] = ()
    model: str | None = None
    mode: PromptMode | None = None
    output: PromptOutput = "chat"
    budget: Allowance = Allowance()
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

    def take(key: str, read: Callable[[yaml.Node, str], _Value], otherwise: _Value) -> _Value:
        node = found.pop(key, None)
        return otherwise if node is None else read(node, key)

    return FrontMatter(
        name=take("name", _name, None),
        description=take("description", _text, ""),
        tags=take("tags", _tags, ()),
        version=take("version", _short, None),
        variables=take("variables", _variables, ()),
        model=take("model", _short, None),
        mode=take("mode", _mode, None),
        output=take("output", _output, "chat"),
        budget=take("budget", _budget, Allowance()),
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


def _name(node: yaml.Node, what: str) -> str | None:
    name = _text(node, what)
    if not all(VARIABLE_NAME.fullmatch(part) for part in name.split("/")):
        raise InvalidPrompt(f"{name!r} is not a valid name: use letters, digits, - and _", _line(node))
    return name


def _short(node: yaml.Node, what: str) -> str | None:
    text = _text(node, what)
    if not text or len(text) > _LONGEST or not text.isprintable():
        raise InvalidPrompt(f"{what} must be one line of 1 to {_LONGEST} characters", _line(node))
    return text


def _tags(node: yaml.Node, what: str) -> tuple[str, ...]:
    """Read a list of tags, or one text with commas."""
    if isinstance(node, yaml.SequenceNode):
        found = [_text(part, f"each of {what}").strip() for part in node.value]
    else:
        found = [part.strip() for part in _text(node, what).split(",")]
    return tuple(dict.fromkeys(tag for tag in found if tag))


def _mode(node: yaml.Node, what: str) -> PromptMode | None:
    return _one_of(node, what, _MODES)


def _output(node: yaml.Node, what: str) -> PromptOutput:
    choices: tuple[PromptOutput, ...] = get_args(PromptOutput)
    return _one_of(node, what, choices)


def _one_of(node: yaml.Node, what: str, choices: tuple[_Value, ...]) -> _Value:
    text = _text(node, what)
    for choice in choices:
        if choice == text:
            return choice
    raise InvalidPrompt(f"unknown {what} {text!r}; available: {', '.join(map(str, choices))}", _line(node))


def _budget(node: yaml.Node, what: str) -> Allowance:
    text = _text(node, what)
    hint = f"{what} must be dollars or tokens, such as $0.05 or 20k or both: $0.05,20k"
    try:
        found = parse_allowance(text)
    except InvalidInput as error:
        raise InvalidPrompt(hint, _line(node)) from error
    if "$" not in text and "." in text:
        # Most likely dollars: nothing has half a token.
        raise InvalidPrompt(f"{hint}; write ${text.strip()} for dollars", _line(node))
    return found


def _variables(node: yaml.Node, what: str) -> tuple[PromptVariable, ...]:
    if _is_empty(node):
        return ()
    return tuple(_variable(name, part) for name, part in _pairs(node, what))


def _variable(name: str, node: yaml.Node) -> PromptVariable:
    if VARIABLE_NAME.fullmatch(name) is None:
        raise InvalidPrompt(
            f"{name!r} is not a valid name for a variable: use letters, digits, - and _", _line(node)
        )
    if _is_empty(node):
        return PromptVariable(name=name)
    parts = dict(_pairs(node, name))
    known = ("description", "default", "required", "optional")
    if other := next((part for part in parts if part not in known), None):
        raise InvalidPrompt(f"{name} can have {', '.join(known)}, but not {other}", _line(parts[other]))
    texts = {part: _text(value, f"the {part} of {name}") for part, value in parts.items()}
    wishes = {
        _flag(parts[part], f"{part} of {name}") == (part == "required")
        for part in ("required", "optional")
        if part in parts
    }
    if len(wishes) > 1 or (True in wishes and "default" in texts):
        raise InvalidPrompt(
            f"{name} cannot be required and have a default or be optional", _line(parts[next(iter(parts))])
        )
    default = texts.get("default", "" if False in wishes else None)
    return PromptVariable(name=name, description=texts.get("description", ""), default=default)


def _flag(node: yaml.Node, what: str) -> bool:
    return _one_of(node, what, ("true", "false")) == "true"


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
