"""Reads tool calls that a model wrote into its text: as JSON, in XML tags, as Python, or as search/replace blocks.

Models that were not trained on a provider's form of calls write them in one of these. What is not clearly a call of
an offered tool stays text.
"""

import ast
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from portico.domain import codecs
from portico.porter.models.model import ToolSpec


class WrittenCall(msgspec.Struct, frozen=True):
    """A call; `arguments` is a JSON object."""

    name: str
    arguments: str


class WrittenCalls(msgspec.Struct, frozen=True):
    """The calls in a text, and the text before the first of them."""

    text: str
    calls: tuple[WrittenCall, ...] = ()


_FENCE = re.compile(
    r"^[ \t]*```[ \t]*(?P<info>[\w-]*)[^\n]*\n(?P<body>.*?)(?:^[ \t]*```|\Z)", re.MULTILINE | re.DOTALL
)
_TAGGED = re.compile(
    r"<(?P<tag>tool_call|tools|function_call)>\s*(?P<body>.*?)\s*(?:</(?P=tag)>|\Z)", re.DOTALL
)
_FUNCTION = re.compile(
    r"<(?:function=(?P<name>[\w.-]+)|invoke name=\"(?P<invoked>[\w.-]+)\")>(?P<body>.*?)(?:</function>|</invoke>|\Z)",
    re.DOTALL,
)
_PARAMETER = re.compile(
    r"<parameter(?:=| name=)\"?(?P<name>\w+)\"?>(?P<value>.*?)(?:</parameter>|(?=<parameter)|\Z)", re.DOTALL
)
_MARK = re.compile(r"(?:<\|python_tag\|>|\[TOOL_CALLS\])\s*(?P<name>[\w.-]*)(?=[\[{])")
_BLOCK = re.compile(
    r"^(?P<path>[^\s`<>]+)[ \t]*\n(?:```\w*\n)?<{5,9} ?SEARCH[ \t]*\n(?P<search>.*?)^={5,9}[ \t]*\n"
    r"(?P<replace>.*?)^>{5,9} ?REPLACE",
    re.MULTILINE | re.DOTALL,
)
_BARE = re.compile(r"^[ \t]*(?=[\[{])", re.MULTILINE)
_ARGUMENT_KEYS = ("arguments", "parameters", "args", "input")
_NAME_KEYS = ("name", "tool", "tool_name", "function")
_LONGEST = 200_000


def read_calls(text: str, tools: Mapping[str, ToolSpec]) -> WrittenCalls:
    """Return the calls of offered tools that a text contains."""
    if len(text) > _LONGEST:
        return WrittenCalls(text)
    reader = _CallReader(tools)
    for read in (reader.tagged, reader.functions, reader.marked, reader.fenced, reader.blocks, reader.bare):
        if places := list(read(text)):
            return WrittenCalls(text[: places[0][0]].strip(), tuple(call for _, call in places))
    return WrittenCalls("", whole) if (whole := tuple(reader.whole(text))) else WrittenCalls(text)


class _CallReader:
    """Each method yields calls with the place in the text where they begin."""

    def __init__(self, tools: Mapping[str, ToolSpec]) -> None:
        self._tools = tools

    def tagged(self, text: str) -> Iterator[tuple[int, WrittenCall]]:
        for found in _TAGGED.finditer(text):
            inner = [call for _, call in self.functions(found["body"])]
            for call in inner or self._in_value(_value(found["body"])):
                yield found.start(), call

    def functions(self, text: str) -> Iterator[tuple[int, WrittenCall]]:
        for found in _FUNCTION.finditer(text):
            name = self._offered(found["name"] or found["invoked"])
            if name is None:
                continue
            given = {
                one["name"]: self._typed(name, one["name"], one["value"])
                for one in _PARAMETER.finditer(found["body"])
            }
            value = given or _value(found["body"].strip() or "{}")
            if isinstance(value, dict):
                yield found.start(), _call(name, value)

    def marked(self, text: str) -> Iterator[tuple[int, WrittenCall]]:
        for found in _MARK.finditer(text):
            value = _value(text[found.end() :])
            if found["name"]:
                value = {"name": found["name"], "arguments": value}
            for call in self._in_value(value):
                yield found.start(), call

    def fenced(self, text: str) -> Iterator[tuple[int, WrittenCall]]:
        for found in _FENCE.finditer(text):
            body = found["body"].strip()
            alone = text.strip() == found[0].strip()
            for call in self._in_body(body, alone=alone):
                yield found.start(), call

    def bare(self, text: str) -> Iterator[tuple[int, WrittenCall]]:
        """The first object or list at the beginning of a line."""
        if (found := _BARE.search(text)) is not None:
            for call in self._in_value(_value(text[found.end() :])):
                yield found.start(), call

    def blocks(self, text: str) -> Iterator[tuple[int, WrittenCall]]:
        if {"search", "replace"} <= self._parameters("edit").keys():
            for found in _BLOCK.finditer(text):
                given = {key: found[key] for key in ("path", "search", "replace")}
                yield found.start(), _call("edit", given)

    def whole(self, text: str) -> Iterator[WrittenCall]:
        yield from self._in_body(text.strip(), alone=True)

    def _in_body(self, body: str, *, alone: bool) -> Iterator[WrittenCall]:
        value = _value(body)
        calls = (
            list(self._in_value(value)) if isinstance(value, (dict, list)) else list(self._in_python(body))
        )
        if not calls and alone and isinstance(value, dict) and (name := self._takes(value)):
            calls = [_call(name, value)]
        yield from calls

    def _in_value(self, value: object) -> Iterator[WrittenCall]:
        if isinstance(value, list):
            for one in value:
                yield from self._in_value(one)
        if not isinstance(value, dict):
            return
        if isinstance(value.get("tool_calls"), list):
            yield from self._in_value(value["tool_calls"])
        elif isinstance(value.get("function"), dict):
            yield from self._in_value(value["function"])
        elif (name := self._named(value)) is not None:
            yield _call(name, self._arguments(name, value))
        elif len(value) == 1:
            # The name of the tool is the key.
            key, given = next(iter(value.items()))
            if isinstance(given, dict) and (known := self._offered(key)) is not None:
                yield _call(known, given)

    def _in_python(self, body: str) -> Iterator[WrittenCall]:
        try:
            tree = ast.parse(body)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return
        statements = [one.value for one in tree.body if isinstance(one, (ast.Expr, ast.Assign))]
        if len(statements) != len(tree.body):
            return
        nodes = [node for one in statements for node in (one.elts if isinstance(one, ast.List) else [one])]
        calls = [self._python_call(node) for node in nodes]
        if all(call is not None for call in calls):
            yield from (call for call in calls if call is not None)

    def _python_call(self, node: ast.expr) -> WrittenCall | None:
        if not isinstance(node, ast.Call):
            return None
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name == "print" and len(node.args) == 1:
            return self._python_call(node.args[0])
        known = self._offered(name)
        if known is None:
            return None
        try:
            given = dict(zip(self._parameters(known), map(_literal, node.args), strict=False))
            given |= {one.arg: _literal(one.value) for one in node.keywords if one.arg}
            return _call(known, given)
        except (ValueError, TypeError, msgspec.MsgspecError):
            return None

    def _named(self, value: dict[str, Any]) -> str | None:
        names = (value[key] for key in _NAME_KEYS if isinstance(value.get(key), str))
        if not any(key in value for key in _ARGUMENT_KEYS):
            return None
        return next((known for name in names if (known := self._offered(name)) is not None), None)

    def _arguments(self, name: str, value: dict[str, Any]) -> dict[str, Any]:
        given = next(value[key] for key in _ARGUMENT_KEYS if key in value)
        if isinstance(given, str):
            given = _value(given)
        if isinstance(given, list):
            given = dict(zip(self._parameters(name), given, strict=False))
        return given if isinstance(given, dict) else {}

    def _offered(self, name: str) -> str | None:
        """Return the tool of this name, which may have a prefix such as `functions.`."""
        return next((one for one in (name, name.rpartition(".")[2]) if one in self._tools), None)

    def _takes(self, value: dict[str, Any]) -> str | None:
        """Return the one tool that takes these arguments."""
        fits = [
            name
            for name, tool in self._tools.items()
            if value
            and value.keys() <= self._parameters(name).keys()
            and set(codecs.decode_json(tool.schema).get("required", ())) <= value.keys()
        ]
        return fits[0] if len(fits) == 1 else None

    def _parameters(self, name: str) -> dict[str, Any]:
        tool = self._tools.get(name)
        found = codecs.decode_json(tool.schema).get("properties") if tool else None
        return found if isinstance(found, dict) else {}

    def _typed(self, tool: str, parameter: str, written: str) -> object:
        """Read the text between tags as the type that the tool wants."""
        text = written.removeprefix("\n").removesuffix("\n")
        schema = self._parameters(tool).get(parameter, {})
        if not isinstance(schema, dict) or schema.get("type") in (None, "string"):
            return text
        value = _value(text.strip())
        return text if value is None else value


def _call(name: str, arguments: dict[str, Any]) -> WrittenCall:
    """Return a call without arguments that are null: models write it for what they leave out."""
    given = {key: value for key, value in arguments.items() if value is not None}
    return WrittenCall(name, msgspec.json.encode(given).decode())


def _literal(node: ast.expr) -> Any:
    """Return the value of a literal, or the words of a path that has no quotes, such as src.py."""
    return ast.unparse(node) if isinstance(node, ast.Attribute) else ast.literal_eval(node)


def _value(text: str) -> Any:
    """Decode the JSON, or a Python literal, at the beginning of a text; None if there is none."""
    start = text.lstrip()
    for candidate in (start, re.sub(r",(?=\s*[}\]])", "", start)):
        try:
            # Raw line breaks in strings are common.
            return json.JSONDecoder(strict=False).raw_decode(candidate)[0]
        except (ValueError, RecursionError):
            continue
    try:
        return ast.literal_eval(start)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None
