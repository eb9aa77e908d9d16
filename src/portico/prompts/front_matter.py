"""Front matter of a prompt file: its description and variables."""

import msgspec
import yaml

from portico.domain.front_matter import InvalidFrontMatter, is_empty, line_of, pairs, split_document, text_of
from portico.prompts.errors import InvalidPrompt
from portico.prompts.template import VARIABLE_NAME


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
    try:
        root, rest, line = split_document(text)
        return FrontMatter() if root is None else _front_matter(root), rest, line
    except InvalidFrontMatter as error:
        raise InvalidPrompt(error.reason, error.line) from error


def _front_matter(root: yaml.Node) -> FrontMatter:
    found = dict(pairs(root, "the front matter"))
    description, variables = found.pop("description", None), found.pop("variables", None)
    return FrontMatter(
        description="" if description is None else text_of(description, "description"),
        variables=() if variables is None else _variables(variables),
        unknown=tuple(found),
    )


def _variables(node: yaml.Node) -> tuple[PromptVariable, ...]:
    if is_empty(node):
        return ()
    return tuple(_variable(name, part) for name, part in pairs(node, "variables"))


def _variable(name: str, node: yaml.Node) -> PromptVariable:
    if VARIABLE_NAME.fullmatch(name) is None:
        raise InvalidFrontMatter(
            f"{name!r} is not a valid name for a variable: use letters, digits, - and _", line_of(node)
        )
    if is_empty(node):
        return PromptVariable(name=name)
    parts = dict(pairs(node, name))
    if other := next((part for part in parts if part not in ("description", "default")), None):
        raise InvalidFrontMatter(
            f"{name} can have a description and a default, but not {other}", line_of(parts[other])
        )
    texts = {part: text_of(value, f"the {part} of {name}") for part, value in parts.items()}
    return PromptVariable(name=name, description=texts.get("description", ""), default=texts.get("default"))
