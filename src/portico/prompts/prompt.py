"""One prompt file: parsing, checking and rendering with values."""

import hashlib
from collections.abc import Mapping
from difflib import get_close_matches

import msgspec

from portico.domain.errors import InvalidInput
from portico.prompts.errors import InvalidPrompt
from portico.prompts.front_matter import PromptVariable, split_front_matter
from portico.prompts.template import PromptTemplate, parse_template

MAX_PROMPT_BYTES = 256 * 1024


class RenderedPrompt(msgspec.Struct, frozen=True):
    """A rendered prompt, the values given, and the defaults used for the rest."""

    text: str
    given: dict[str, str]
    defaults: dict[str, str]


class CatalogPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt. `text` is the file without its front matter; `digest` is the SHA-256 of the whole file."""

    digest: str
    description: str
    variables: tuple[PromptVariable, ...]
    text: str
    template: PromptTemplate
    warnings: tuple[str, ...]

    def fill(self, name: str, values: Mapping[str, str]) -> RenderedPrompt:
        """Render the text with values. Raises InvalidInput for a missing or unknown value."""
        known = [variable.name for variable in self.variables]
        if unknown := next((key for key in values if key not in known), None):
            raise _no_such_variable(name, unknown, known)
        missing = [one for one in self.variables if one.default is None and one.name not in values]
        if missing:
            raise _missing(name, missing)
        defaults = {
            one.name: one.default
            for one in self.variables
            if one.default is not None and one.name not in values
        }
        return RenderedPrompt(self.template.fill({**defaults, **values}), dict(values), defaults)

    def open_pieces(self) -> list[str | PromptVariable]:
        """Render the text with its defaults, and with placeholders for variables that need a value."""
        by_name = {variable.name: variable for variable in self.variables}
        return [
            piece if isinstance(piece, str) else _shown(by_name[piece.name]) for piece in self.template.pieces
        ]


def read_prompt(data: bytes) -> CatalogPrompt:
    """Parse a prompt file. Raises InvalidPrompt."""
    if len(data) > MAX_PROMPT_BYTES:
        raise InvalidPrompt(f"the file is larger than {MAX_PROMPT_BYTES // 1024} KB")
    try:
        written = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise InvalidPrompt("the file is not UTF-8 text", data.count(b"\n", 0, error.start) + 1) from error
    matter, rest, line = split_front_matter(written)
    text = rest.lstrip("\n")
    template = parse_template(text.rstrip("\n"), line + len(rest) - len(text))
    declared = {variable.name for variable in matter.variables}
    for place in template.placeholders:
        if place.name not in declared:
            raise InvalidPrompt(
                f"{{{{ {place.name} }}}} is not declared under variables in the front matter", place.line
            )
    used = {place.name for place in template.placeholders}
    unused = [variable.name for variable in matter.variables if variable.name not in used]
    return CatalogPrompt(
        digest=hashlib.sha256(data).hexdigest(),
        description=matter.description,
        variables=matter.variables,
        text=text.rstrip("\n"),
        template=template,
        warnings=(
            *(f"The variable {name} is declared but never used." for name in unused),
            *(f"The key {name} in the front matter is ignored." for name in matter.unknown),
        ),
    )


def _shown(variable: PromptVariable) -> str | PromptVariable:
    return variable if variable.default is None else variable.default


def _no_such_variable(name: str, unknown: str, known: list[str]) -> InvalidInput:
    near = get_close_matches(unknown, known, n=1)
    if near:
        hint = f"Did you mean {near[0]}?"
    elif known:
        hint = f"Available: {', '.join(known)}"
    else:
        hint = f"It has no variables. To use {{{{ {unknown} }}}}, declare it under variables in its front matter."
    return InvalidInput(f"The prompt {name} has no variable {unknown}.", suggestion=hint)


def _missing(name: str, missing: list[PromptVariable]) -> InvalidInput:
    needed = "; ".join(one.name + (f" ({one.description})" if one.description else "") for one in missing)
    ways = " ".join(f"--set {one.name}=…" for one in missing)
    piped = ", or --input - to read standard input" if any(one.name == "input" for one in missing) else ""
    return InvalidInput(f"The prompt {name} needs a value for {needed}.", suggestion=f"Add: {ways}{piped}")
