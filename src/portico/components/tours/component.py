"""The tours component: an agent explains code at its places, and every door shows the steps.

A tour is a tool call in the session that made it, with the steps in its output. Files are read through the client, as
the agent itself would: with unsaved text, and in a proposal as they are proposed.
"""

import os
import re
import secrets
from collections.abc import Sequence
from pathlib import PurePath
from typing import Annotated

import msgspec
from msgspec import Meta

from portico.acp import _schema as acp
from portico.acp.lenient_decoder import decode
from portico.components.component import Component, ComponentContext
from portico.conductor.mcp_bridge.server_proxy import McpProxy
from portico.conductor.proxy import Proxy
from portico.domain.secret_files import is_private
from portico.domain.tours import CodeExcerpt, Tour, TourOutput, TourStep
from portico.mcp.server import ToolServer
from portico.mcp.tools import Tool, ToolCall, ToolFailure, schema_of
from portico.rpc.messages import RpcError

SERVER_NAME = "portico-tours"
MOST_STEPS = 40
_LINES_BEFORE = 2
_LINES_AFTER = 7
_LONGEST_LINE = 200
_INSTRUCTIONS = "Shows the person places in the code, with your explanation at each of them."
_PRESENT = """Presents a tour: an explanation in steps, each at a place in the code. The person sees the steps in the \
chat and in the editor and goes from one to the next. Use it when the person asks how something works, or to lead \
through a change. Name a symbol wherever you can: it is found even if lines have moved."""


_DEFINES = frozenset(
    {
        "def", "class", "function", "fn", "func", "fun", "sub", "proc", "const", "let", "var", "val",
        "type", "interface", "struct", "enum", "trait", "impl", "mod", "module", "namespace", "object",
        "record", "static", "public", "private", "protected", "internal", "export", "abstract", "final",
        "async", "macro", "define", "union", "protocol", "extension",
    }
)  # fmt: skip
_MENTIONS = frozenset(
    {
        "extends", "implements", "return", "import", "from", "new", "throw", "raise", "await", "yield",
        "if", "while", "for", "in", "is",
    }
)  # fmt: skip
_RECEIVER = re.compile(r"^(\s*func\s*)\([^()]*\)")


class StepQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[
        str, Meta(description="A file, relative to the folder you work in.", min_length=1, max_length=1000)
    ]
    text: Annotated[
        str, Meta(description="What is to be seen there, as Markdown.", min_length=1, max_length=4000)
    ]
    line: Annotated[int, Meta(description="The line, counting from 1.", ge=1)] = 1
    symbol: Annotated[
        str,
        Meta(
            description="The function, class or name that is defined there, such as Cart.total.",
            max_length=200,
        ),
    ] = ""


class TourQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    title: Annotated[str, Meta(description="What the tour explains.", min_length=1, max_length=120)]
    steps: Annotated[tuple[StepQuery, ...], Meta(min_length=1, max_length=MOST_STEPS)]


class ToursComponent(Component):
    name = "tours"
    summary = "explanations at places in the code, step by step, in every door"

    def plan(self, context: ComponentContext) -> Sequence[Proxy]:
        return (ToursProxy(),)


class ToursProxy(McpProxy):
    name = "tours"

    def __init__(self) -> None:
        present = Tool(
            "present_tour",
            _PRESENT,
            schema_of(TourQuery),
            self._present,
            title="Present tour",
            read_only=True,
        )
        super().__init__((ToolServer(SERVER_NAME, [present], instructions=_INSTRUCTIONS),))

    async def _present(self, call: ToolCall) -> str:
        asked = call.read(TourQuery)
        if call.session_id is None:
            raise ToolFailure("The session is still being opened. Call again in your turn.")
        steps = [msgspec.structs.replace(step, path=_relative(call.cwd, step.path)) for step in asked.steps]
        texts = {path: await self._lines(call, path) for path in dict.fromkeys(step.path for step in steps)}
        tour = Tour(asked.title, tuple(_resolve(step, texts[step.path]) for step in steps))
        problems = [
            f"Step {number}: {one.problem}" for number, one in enumerate(tour.steps, 1) if one.problem
        ]
        if len(problems) == len(tour.steps):
            raise ToolFailure("\n".join(("No step has a place, so the tour was not shown.", *problems)))
        self._show(call.session_id, call.cwd, tour)
        count = "1 step" if len(tour.steps) == 1 else f"{len(tour.steps)} steps"
        return "\n".join((f"The person sees the tour, with {count}.", *problems))

    async def _lines(self, call: ToolCall, path: str) -> Sequence[str] | str:
        """The lines of a file, or why they cannot be shown."""
        place = PurePath(path)
        if place.is_absolute() or place.parts[0] == "..":
            return f"{path} is outside of the folder of the session."
        if is_private(place.parts):
            return f"{path} may hold secrets, so it is not shown."
        asked = acp.ReadTextFileRequest(session_id=call.session_id or "", path=str(PurePath(call.cwd, path)))
        try:
            answer = decode(await self.ask_client("fs/read_text_file", asked), acp.ReadTextFileResponse)
        except RpcError as error:
            return f"{path} cannot be read: {error.reason}"
        except msgspec.DecodeError:
            return f"{path} cannot be read: the editor did not answer with a text."
        return answer.content.splitlines() or [""]

    def _show(self, session_id: str, cwd: str, tour: Tour) -> None:
        call_id = f"portico-tour-{secrets.token_hex(8)}"
        places = [
            acp.ToolCallLocation(path=str(PurePath(cwd, step.path)), line=step.line)
            for step in tour.steps
            if step.line
        ]
        for update in (
            acp.ToolCall(
                tool_call_id=call_id, title=f"Tour: {tour.title}", kind="other", status="in_progress"
            ),
            acp.ToolCallProgress(
                tool_call_id=call_id,
                status="completed",
                locations=places,
                content=[acp.Content(content=acp.TextContent(text=_as_list(tour)))],
                raw_output=msgspec.to_builtins(TourOutput(tour)),
            ),
        ):
            self.tell_client("session/update", acp.SessionNotification(session_id=session_id, update=update))


def _relative(cwd: str, path: str) -> str:
    """The path as the session names it: without its folder, and as it is if it leads out of it."""
    place = PurePath(os.path.normpath(PurePath(cwd, path)))
    return place.relative_to(cwd).as_posix() if place.is_relative_to(cwd) else path


def _resolve(step: StepQuery, lines: Sequence[str] | str) -> TourStep:
    """The step at its place. What the agent meant may have moved since it looked, or be gone."""
    if isinstance(lines, str):
        return TourStep(path=step.path, text=step.text, symbol=step.symbol, problem=lines)
    found = find_place(lines, step.line, step.symbol)
    if found is None:
        missing = f"{step.path} has {len(lines)} lines; line {step.line} is not there."
        if step.symbol:
            missing = f"{step.symbol} was not found in {step.path}."
        return TourStep(path=step.path, text=step.text, symbol=step.symbol, problem=missing)
    first = max(found - _LINES_BEFORE, 1)
    shown = [line[:_LONGEST_LINE] for line in lines[first - 1 : found + _LINES_AFTER]]
    excerpt = CodeExcerpt(first, "\n".join(shown))
    return TourStep(path=step.path, text=step.text, line=found, symbol=step.symbol, excerpt=excerpt)


def _as_list(tour: Tour) -> str:
    """The tour as text, for editors that do not know tours."""
    return "\n".join(f"{number}. {_place(step)}: {step.text}" for number, step in enumerate(tour.steps, 1))


def _place(step: TourStep) -> str:
    return f"`{step.path}:{step.line}`" if step.line else f"{step.path} ({step.problem})"


def find_place(lines: Sequence[str], line: int, symbol: str) -> int | None:
    """The number of the line, counting from 1; None if neither the line nor the symbol is there.

    A symbol may be named with what it is in, as in `Cart.total`.
    """
    if not symbol:
        return line if 1 <= line <= len(lines) else None
    *outer, name = re.split(r"[.:#]+", symbol.strip("()"))
    if 1 <= line <= len(lines) and _word(name).search(lines[line - 1]):
        return line
    first = 1
    for one in outer:
        first = _definition(lines, one, first, 0) or first
    return _definition(lines, name, first, line) or _definition(lines, name, 1, line)


def _definition(lines: Sequence[str], name: str, first: int, near: int) -> int | None:
    """The line from `first` on that most looks like the definition of a name; of equals, the one nearest to `near`."""
    word = _word(name)
    found = [number for number, text in enumerate(lines, 1) if number >= first and word.search(text)]
    if not found:
        return None
    return min(
        found, key=lambda number: (_rank(lines[number - 1], word), abs(number - near) if near else number)
    )


def _rank(text: str, word: re.Pattern[str]) -> int:
    """0 for a definition by keyword, 1 for a line that begins with the name, 2 for a mention."""
    text = _RECEIVER.sub(r"\1", text)
    match = word.search(text)
    if match is None:
        return 2
    before = text[: match.start()]
    words = set(re.findall(r"\w+", before))
    if words & _DEFINES and not words & _MENTIONS and not set(before) & set("(=;"):
        return 0
    return 1 if not before.strip() and re.match(r"\s*[(:=<]", text[match.end() :]) else 2


def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")
