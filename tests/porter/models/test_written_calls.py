"""Tool calls that models write as text: outputs of real models, forms of chat templates, and what is no call."""

import json

import pytest

from portico.porter.models.model import (
    AssistantMessage,
    ModelRequest,
    ModelText,
    ResponseFinished,
    TextChunk,
    ToolSpec,
    UserMessage,
)
from portico.porter.models.written_call_stream import WrittenCallModel
from portico.porter.models.written_calls import read_calls
from portico.porter.tools.catalog import TOOLS, VARIANTS
from tests.porter.models.test_offline_calls import SpokenModel

TOOLS_BY_NAME: dict[str, ToolSpec] = {
    tool.name: tool.spec() for tool in TOOLS if tool.name in ("read", "grep", "run", "write", "edit")
}
SMALL_TOOLS = {**TOOLS_BY_NAME, "edit": VARIANTS["edit", "search-replace"].spec()}

READ = ("read", {"path": "a.py"})
RUN = ("run", {"command": "python3 -m unittest", "seconds": 120, "background": False})
REAL = {
    "the tool as a fenced object": (
        (
            '```json\n{\n  "name": "read",\n  "arguments": {\n    "path": "src/app.py",\n    "first_line": 1,\n'
            '    "lines": 2000\n  }\n}\n```'
        ),
        [("read", {"path": "src/app.py", "first_line": 1, "lines": 2000})],
    ),
    "words around a fenced object": (
        (
            "To find where `parse_config` is used in the code, you can search for the function name and its usage within "
            "the provided tools XML tags.\n\nHere's an example of how you might use the `grep` tool to search for "
            '`parse_config`:\n\n```json\n{\n  "name": "grep",\n  "arguments": {\n    "pattern": "parse_config",\n'
            '    "path": null,\n    "files": null,\n    "ignore_case": false,\n    "literal": false\n  }\n}\n```\n\n'
            "This will return a list of all files and lines where `parse_config` is used."
        ),
        [
            (
                "grep",
                {"pattern": "parse_config", "ignore_case": False, "literal": False},
            )
        ],
    ),
    "nested arguments": (
        (
            '```json\n{\n    "name": "edit",\n    "arguments": {\n        "path": "calc.py",\n        "edits": [\n'
            '            {\n                "old": "return a - b",\n                "new": "return a + b"\n            }\n'
            "        ]\n    }\n}\n```"
        ),
        [("edit", {"path": "calc.py", "edits": [{"old": "return a - b", "new": "return a + b"}]})],
    ),
    "only the arguments": (
        '```json\n{\n  "path": "src/app.py",\n  "first_line": 1,\n  "lines": 2000\n}\n```',
        [("read", {"path": "src/app.py", "first_line": 1, "lines": 2000})],
    ),
    "the name as a key": (
        (
            '```json\n{\n  "run": {\n    "command": "python3 -m unittest",\n    "seconds": 120,\n'
            '    "background": false\n  }\n}\n```'
        ),
        [RUN],
    ),
    "null for what is left out": (
        '```json\n{\n  "name": "read",\n  "arguments": {\n    "path": "a.py",\n    "first_line": null,\n    "lines": null\n  }\n}\n```',
        [READ],
    ),
    "a list of arguments": (
        '```json\n{\n  "name": "run",\n  "arguments": [\n    "python calc.py"\n  ]\n}\n```',
        [("run", {"command": "python calc.py"})],
    ),
    "a definition and its use": (
        (
            "```python\ndef read(path):\n    with open(path, 'r') as file:\n        return file.read()\n\n"
            "# Example usage:\ncontent = read('src/app.py')\nprint(content)\n```"
        ),
        [],
    ),
    "a schema instead of a call": (
        (
            '```json\n{\n  "type": "object",\n  "properties": {\n    "path": {\n      "type": "string"\n    }\n  },\n'
            '  "required": ["path"],\n  "additionalProperties": false\n}\n```'
        ),
        [],
    ),
}
"""Outputs of Qwen2.5-Coder-1.5B-Instruct (Q4_K_M) at temperature 0, asked with these tools."""
TEMPLATES = {
    "Qwen2.5, Hermes": ('<tool_call>\n{"name": "read", "arguments": {"path": "a.py"}}\n</tool_call>', [READ]),
    "Qwen2.5, two calls": (
        (
            '<tool_call>\n{"name": "read", "arguments": {"path": "a.py"}}\n</tool_call>\n'
            '<tool_call>\n{"name": "read", "arguments": {"path": "a.py"}}\n</tool_call>'
        ),
        [READ, READ],
    ),
    "Qwen2.5 without an end": ('<tool_call>\n{"name": "read", "arguments": {"path": "a.py"}}', [READ]),
    "Qwen2.5-Coder, wrong tag": (
        '<tools>\n{"name": "read", "arguments": {"path": "a.py"}}\n</tools>',
        [READ],
    ),
    "Qwen3-Coder": (
        (
            "<tool_call>\n<function=read>\n<parameter=path>\na.py\n</parameter>\n<parameter=lines>\n20\n</parameter>\n"
            "</function>\n</tool_call>"
        ),
        [("read", {"path": "a.py", "lines": 20})],
    ),
    "Llama 3.1, custom": ('<function=read>{"path": "a.py"}</function>', [READ]),
    "Llama 3.1, JSON": ('{"name": "read", "parameters": {"path": "a.py"}}', [READ]),
    "Llama 3.1, tag": ('<|python_tag|>{"name": "read", "parameters": {"path": "a.py"}}', [READ]),
    "Llama 3.2, Python": ('[read(path="a.py"), read(path="a.py")]', [READ, READ]),
    "Gemma": ('```tool_code\nprint(default_api.read(path="a.py"))\n```', [READ]),
    "Mistral": ('[TOOL_CALLS][{"name": "read", "arguments": {"path": "a.py"}}]', [READ]),
    "Mistral, newer": ('[TOOL_CALLS]read{"path": "a.py"}', [READ]),
    "invoke": ('<invoke name="read"><parameter name="path">a.py</parameter></invoke>', [READ]),
    "OpenAI": (
        '{"tool_calls": [{"type": "function", "function": {"name": "read", "arguments": "{\\"path\\": \\"a.py\\"}"}}]}',
        [READ],
    ),
    "Porter's own": ('{"tool": "read", "arguments": {"path": "a.py"}}', [READ]),
    "Python, by position": ('```python\nread("a.py")\n```', [READ]),
    "a prefix": ('{"name": "functions.read", "arguments": {"path": "a.py"}}', [READ]),
    "Python literals": ("```json\n{'name': 'read', 'arguments': {'path': 'a.py'}}\n```", [READ]),
    "a trailing comma": ('```json\n{"name": "read", "arguments": {"path": "a.py",},}\n```', [READ]),
    "a raw line break": (
        '```json\n{"name": "write", "arguments": {"path": "a.py", "content": "x = 1\ny = 2\n"}}\n```',
        [("write", {"path": "a.py", "content": "x = 1\ny = 2\n"})],
    ),
}
NO_CALLS = {
    "words": "The function read(path) opens a file.",
    "code": "```python\ndef read(path):\n    return open(path).read()\n```",
    "code that calls": "```python\nfor name in names:\n    read(path=name)\n```",
    "another tool": '```json\n{"name": "format", "arguments": {"path": "a.py"}}\n```',
    "an example of settings": '```json\n{"name": "read", "version": "1.0"}\n```',
    "arguments among words": 'Use this:\n```json\n{"path": "a.py"}\n```\nin your settings.',
    "arguments of two tools": '```json\n{"path": "a.py", "unknown": 1}\n```',
    "computed arguments": "```python\nread(path=find())\n```",
    "nothing": "",
}


@pytest.mark.parametrize(("text", "expected"), [*REAL.values(), *TEMPLATES.values()], ids=[*REAL, *TEMPLATES])
def test_calls_are_read(text: str, expected: list[tuple[str, dict[str, object]]]) -> None:
    found = read_calls(text, TOOLS_BY_NAME)
    assert [(call.name, json.loads(call.arguments)) for call in found.calls] == expected


@pytest.mark.parametrize("text", NO_CALLS.values(), ids=list(NO_CALLS))
def test_what_is_not_clearly_a_call_stays_text(text: str) -> None:
    found = read_calls(text, TOOLS_BY_NAME)
    assert (found.calls, found.text) == ((), text)


def test_a_path_without_quotes_is_read() -> None:
    """An output of Qwen2.5-Coder-1.5B-Instruct, shortened."""
    text = 'You can use this command:\n\n```python\nedit(calc.py, "return a - b", "return a + b")\n```\n\nIt will.'
    [call] = read_calls(text, SMALL_TOOLS).calls
    assert json.loads(call.arguments) == {
        "path": "calc.py",
        "search": "return a - b",
        "replace": "return a + b",
    }


def test_a_search_replace_block_is_an_edit() -> None:
    text = "I fix it.\n\ncalc.py\n<<<<<<< SEARCH\n  a - b\n=======\n  a + b\n>>>>>>> REPLACE\n"
    found = read_calls(text, SMALL_TOOLS)
    [call] = found.calls
    assert found.text == "I fix it."
    assert json.loads(call.arguments) == {"path": "calc.py", "search": "  a - b\n", "replace": "  a + b\n"}
    assert read_calls(text, TOOLS_BY_NAME).calls == ()


async def shown(text: str) -> tuple[str, ResponseFinished, int]:
    request = ModelRequest(
        system="", messages=(UserMessage((ModelText("Hi"),)),), tools=tuple(SMALL_TOOLS.values())
    )
    events = [event async for event in WrittenCallModel(SpokenModel(text)).stream(request)]
    finished = events[-1]
    assert isinstance(finished, ResponseFinished)
    pieces = [event.text for event in events if isinstance(event, TextChunk)]
    return "".join(pieces), finished, len(pieces)


@pytest.mark.parametrize(
    "call",
    [
        '```json\n{"name": "read", "arguments": {"path": "a.py"}}\n```\nThat reads it.',
        '<tool_call>{"name": "read", "arguments": {"path": "a.py"}}</tool_call>',
        '{"name": "read", "arguments": {"path": "a.py"}}',
        "a.py\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE",
    ],
)
async def test_a_written_call_is_not_shown_and_the_words_before_it_are(call: str) -> None:
    text, finished, _ = await shown(f"I look at it.\n{call}")
    assert text.strip() == "I look at it."
    assert (finished.reason, len(finished.message.calls)) == ("tool_calls", 1)
    assert finished.message.text == "I look at it."


@pytest.mark.parametrize(
    "answer",
    [
        "Plain words, and more of them.\n\n```python\ndef f(x):\n    return {1: x}\n```\nThat is all of it.",
        "```ts\n{\n  a: 1\n}\n```\nSome more words here.",
        '{"an": "object"}',
        "a <b> c < d [1] [TOOL",
        "word",
    ],
)
async def test_an_answer_is_shown_completely(answer: str) -> None:
    text, finished, _ = await shown(answer)
    assert text == answer
    assert finished.message == AssistantMessage((ModelText(answer),), model="offline:spoken")


async def test_words_are_shown_while_they_arrive() -> None:
    _, _, pieces = await shown("Many words that come in pieces, one after the other, until they end.")
    assert pieces > 10
