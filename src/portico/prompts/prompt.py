"""One prompt file: parsing, checking and rendering with values."""

import hashlib
from collections.abc import Mapping
from difflib import get_close_matches
from types import MappingProxyType

import msgspec

from portico.domain.errors import InvalidInput
from portico.prompts.errors import InvalidPrompt
from portico.prompts.front_matter import FrontMatter, PromptVariable, split_front_matter
from portico.prompts.template import PromptTemplate, parse_template

MAX_PROMPT_BYTES = 256 * 1024


class RenderedPrompt(msgspec.Struct, frozen=True):
    """A rendered prompt with the values of its variables: those given, those of the session, and defaults."""

    text: str
    given: dict[str, str]
    session: dict[str, str]
    defaults: dict[str, str]

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of all variables."""
        return tuple(sorted({**self.defaults, **self.session, **self.given}))


class CatalogPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt. `text` is the file without its front matter; `digest` is the SHA-256 of the whole file."""

    digest: str
    matter: FrontMatter
    text: str
    template: PromptTemplate
    warnings: tuple[str, ...]

    @property
    def description(self) -> str:
        return self.matter.description

    @property
    def variables(self) -> tuple[PromptVariable, ...]:
        return self.matter.variables

    def fill(
        self, name: str, values: Mapping[str, str], session: Mapping[str, str] = MappingProxyType({})
    ) -> RenderedPrompt:
        """Render the text with values; those of the session come after them, and defaults last.

        Raises InvalidInput for a missing or unknown value. Unknown values of the session are ignored.
        """
        known = [variable.name for variable in self.variables]
        if unknown := next((key for key in values if key not in known), None):
            raise _no_such_variable(name, unknown, known)
        kept = {key: session[key] for key in known if key in session and key not in values}
        unset = [one for one in self.variables if one.name not in values and one.name not in kept]
        if missing := [one for one in unset if one.default is None]:
            raise _missing(name, missing)
        defaults = {one.name: one.default for one in unset if one.default is not None}
        text = self.template.fill({**defaults, **kept, **values})
        return RenderedPrompt(text, dict(values), kept, defaults)

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
        matter=matter,
        text=text.rstrip("\n"),
        template=template,
        warnings=(
            *(f"The variable {name} is declared but never used." for name in unused),
            *_unknown_fields(matter.unknown),
        ),
    )


def _unknown_fields(names: tuple[str, ...]) -> tuple[str, ...]:
    listed = ", ".join(names)
    return (f"Unknown fields in the front matter are ignored: {listed}.",) if names else ()


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
    piped = (
        ", a file after the name, or --input - to read standard input"
        if any(one.name == "input" for one in missing)
        else ""
    )
    return InvalidInput(f"The prompt {name} needs a value for {needed}.", suggestion=f"Add: {ways}{piped}")
