"""Front matter of a prompt file: its description, its variables and how it wants to be run."""

from collections.abc import Callable
from typing import Literal, TypeVar, get_args

import msgspec
import yaml

from portico.config.model_settings import Allowance, parse_allowance
from portico.domain.errors import InvalidInput
from portico.domain.front_matter import InvalidFrontMatter, is_empty, line_of, pairs, split_document, text_of
from portico.domain.reviews import ReviewMode
from portico.prompts.errors import InvalidPrompt
from portico.prompts.template import VARIABLE_NAME

_LONGEST = 200
_Value = TypeVar("_Value")

READ_ONLY = "read-only"
PromptMode = Literal["read-only"] | ReviewMode
"""The review mode of a run; `read-only` writes and runs nothing."""
PromptOutput = Literal["chat", "file", "editor"]
"""Destination of the answer: the chat or terminal, a file, or a new editor beside the source."""

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
    try:
        root, rest, line = split_document(text)
        return FrontMatter() if root is None else _front_matter(root), rest, line
    except InvalidFrontMatter as error:
        raise InvalidPrompt(error.reason, error.line) from error


def _front_matter(root: yaml.Node) -> FrontMatter:
    found = dict(pairs(root, "the front matter"))

    def take(key: str, read: Callable[[yaml.Node, str], _Value], otherwise: _Value) -> _Value:
        node = found.pop(key, None)
        return otherwise if node is None else read(node, key)

    return FrontMatter(
        name=take("name", _name, None),
        description=take("description", text_of, ""),
        tags=take("tags", _tags, ()),
        version=take("version", _short, None),
        variables=take("variables", _variables, ()),
        model=take("model", _short, None),
        mode=take("mode", _mode, None),
        output=take("output", _output, "chat"),
        budget=take("budget", _budget, Allowance()),
        unknown=tuple(found),
    )


def _name(node: yaml.Node, what: str) -> str | None:
    name = text_of(node, what)
    if not all(VARIABLE_NAME.fullmatch(part) for part in name.split("/")):
        raise InvalidPrompt(f"{name!r} is not a valid name: use letters, digits, - and _", line_of(node))
    return name


def _short(node: yaml.Node, what: str) -> str | None:
    text = text_of(node, what)
    if not text or len(text) > _LONGEST or not text.isprintable():
        raise InvalidPrompt(f"{what} must be one line of 1 to {_LONGEST} characters", line_of(node))
    return text


def _tags(node: yaml.Node, what: str) -> tuple[str, ...]:
    """Read a list of tags, or one text with commas."""
    if isinstance(node, yaml.SequenceNode):
        found = [text_of(part, f"each of {what}").strip() for part in node.value]
    else:
        found = [part.strip() for part in text_of(node, what).split(",")]
    return tuple(dict.fromkeys(tag for tag in found if tag))


def _mode(node: yaml.Node, what: str) -> PromptMode | None:
    return _one_of(node, what, _MODES)


def _output(node: yaml.Node, what: str) -> PromptOutput:
    choices: tuple[PromptOutput, ...] = get_args(PromptOutput)
    return _one_of(node, what, choices)


def _one_of(node: yaml.Node, what: str, choices: tuple[_Value, ...]) -> _Value:
    text = text_of(node, what)
    for choice in choices:
        if choice == text:
            return choice
    raise InvalidPrompt(f"unknown {what} {text!r}; available: {', '.join(map(str, choices))}", line_of(node))


def _budget(node: yaml.Node, what: str) -> Allowance:
    text = text_of(node, what)
    hint = f"{what} must be dollars or tokens, such as $0.05 or 20k or both: $0.05,20k"
    try:
        found = parse_allowance(text)
    except InvalidInput as error:
        raise InvalidPrompt(hint, line_of(node)) from error
    if "$" not in text and "." in text:
        # Most likely dollars: nothing has half a token.
        raise InvalidPrompt(f"{hint}; write ${text.strip()} for dollars", line_of(node))
    return found


def _variables(node: yaml.Node, what: str) -> tuple[PromptVariable, ...]:
    if is_empty(node):
        return ()
    return tuple(_variable(name, part) for name, part in pairs(node, what))


def _variable(name: str, node: yaml.Node) -> PromptVariable:
    if VARIABLE_NAME.fullmatch(name) is None:
        raise InvalidPrompt(
            f"{name!r} is not a valid name for a variable: use letters, digits, - and _", line_of(node)
        )
    if is_empty(node):
        return PromptVariable(name=name)
    parts = dict(pairs(node, name))
    known = ("description", "default", "required", "optional")
    if other := next((part for part in parts if part not in known), None):
        raise InvalidPrompt(f"{name} can have {', '.join(known)}, but not {other}", line_of(parts[other]))
    texts = {part: text_of(value, f"the {part} of {name}") for part, value in parts.items()}
    wishes = {
        _flag(parts[part], f"{part} of {name}") == (part == "required")
        for part in ("required", "optional")
        if part in parts
    }
    if len(wishes) > 1 or (True in wishes and "default" in texts):
        raise InvalidPrompt(
            f"{name} cannot be required and have a default or be optional", line_of(parts[next(iter(parts))])
        )
    default = texts.get("default", "" if False in wishes else None)
    return PromptVariable(name=name, description=texts.get("description", ""), default=default)


def _flag(node: yaml.Node, what: str) -> bool:
    return _one_of(node, what, ("true", "false")) == "true"
