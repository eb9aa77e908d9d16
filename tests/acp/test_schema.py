"""The generated types against the official schema they come from."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from portico.acp import _schema
from portico.domain import codecs
from tests.acp.schema_examples import DEFINITIONS, PACKAGE, SCHEMA, examples, validator

SCRIPT = Path(__file__).parents[2] / "scripts/generate_acp.py"
STRUCTS = {
    found for found in vars(_schema).values() if isinstance(found, type) and issubclass(found, _schema.Wire)
} - {_schema.Wire, _schema.ExtensibleWire}


def carries_a_tag(definition: str) -> bool:
    """A tagged struct is written with its tag, so it is checked as a variant of its union."""
    found = getattr(_schema, definition)
    return found in STRUCTS and found.__struct_config__.tag is not None


# What the protocol reads into a missing field, so it need not be written: ToolCall, ToolCall, ElicitationSchema.
PROTOCOL_DEFAULTS = {("kind", "other"), ("status", "pending"), ("type", "object")}
GENERATED = [name for name in DEFINITIONS if hasattr(_schema, name) and not carries_a_tag(name)]


def structs_in(value: Any) -> set[type]:
    match value:
        case msgspec.Struct():
            inner = [getattr(value, name) for name in value.__struct_fields__]
            return {type(value)}.union(*map(structs_in, inner))
        case list():
            return set().union(*map(structs_in, value))
        case dict():
            return structs_in(list(value.values()))
        case _:
            return set()


def left_out(example: Any, written: Any) -> Iterator[tuple[str, str]]:
    """The properties of the example that were not written; everything else has to be equal."""
    match example, written:
        case dict(), dict():
            assert written.keys() <= example.keys()
            for key, value in example.items():
                if key in written:
                    yield from left_out(value, written[key])
                else:
                    yield key, value
        case list(), list():
            for one, other in zip(example, written, strict=True):
                yield from left_out(one, other)
        case _:
            assert written == example


@pytest.mark.parametrize("full", [False, True], ids=["required", "full"])
@pytest.mark.parametrize("definition", GENERATED)
def test_a_message_of_the_schema_is_read_and_written_without_loss(definition: str, full: bool) -> None:
    decoder = codecs.json_decoder(getattr(_schema, definition))
    for example in examples(DEFINITIONS[definition], full=full):
        assert validator(definition).is_valid(example), example
        decoded = decoder.decode(json.dumps(example))
        encoded = msgspec.json.encode(decoded)
        written = json.loads(encoded)
        validator(definition).validate(written)
        assert set(left_out(example, written)) <= PROTOCOL_DEFAULTS
        assert decoder.decode(encoded) == decoded


def test_the_examples_reach_every_generated_struct() -> None:
    reached: set[type] = set()
    for definition in GENERATED:
        for example in examples(DEFINITIONS[definition], full=True):
            reached |= structs_in(codecs.convert(example, getattr(_schema, definition)))
    assert reached == STRUCTS


def test_every_method_of_the_schema_has_its_params_and_result() -> None:
    tables = {
        "agent": _schema.AGENT_METHODS,
        "client": _schema.CLIENT_METHODS,
        "protocol": _schema.PROTOCOL_METHODS,
        "proxy": _schema.PROXY_METHODS,
    }
    expected = {(found["x-side"], found["x-method"]) for found in DEFINITIONS.values() if "x-method" in found}
    assert expected == {(side, name) for side, table in tables.items() for name in table}
    for table in tables.values():
        for name, method in table.items():
            assert method.name == name
            kind = "Request" if method.result is not None else "Notification"
            assert method.params.__name__.endswith(kind)


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        (_schema.AGENT_METHODS["session/prompt"], (_schema.PromptRequest, _schema.PromptResponse)),
        (_schema.AGENT_METHODS["session/cancel"], (_schema.CancelNotification, None)),
        (_schema.CLIENT_METHODS["session/update"], (_schema.SessionNotification, None)),
        (
            _schema.CLIENT_METHODS["terminal/create"],
            (_schema.CreateTerminalRequest, _schema.CreateTerminalResponse),
        ),
        (_schema.PROXY_NOTIFICATIONS["proxy/successor"], (_schema.ProxySuccessorNotification, None)),
    ],
)
def test_a_method_names_the_types_of_its_two_directions(method: _schema.Method, expected: object) -> None:
    assert (method.params, method.result) == expected


def test_a_title_that_is_cleared_differs_from_one_that_is_left_alone() -> None:
    cleared = _schema.SessionInfoUpdate(title=None)
    assert msgspec.json.encode(cleared) == b'{"sessionUpdate":"session_info_update","title":null}'
    untouched = codecs.decode_json(b'{"sessionUpdate":"session_info_update"}', _schema.SessionInfoUpdate)
    assert untouched.title is msgspec.UNSET


def test_an_update_that_sets_a_tool_call_back_to_pending_says_so() -> None:
    encoded = msgspec.json.encode(_schema.ToolCallProgress(tool_call_id="call", status="pending"))
    assert encoded == b'{"sessionUpdate":"tool_call_update","toolCallId":"call","status":"pending"}'


def test_an_inner_result_of_null_is_still_written() -> None:
    assert msgspec.json.encode(_schema.MessageMcpResponse(result=None)) == b'{"result":null}'


def test_a_stdio_server_without_arguments_is_written_with_its_required_lists() -> None:
    server = _schema.McpServer(name="files", command="/bin/files", args=[], env=[])
    validator("McpServer").validate(json.loads(msgspec.json.encode(server)))


def test_messages_are_values_that_cannot_change() -> None:
    with pytest.raises(AttributeError):
        _schema.TextContent(text="a").text = "b"  # type: ignore[misc]


def run_generator(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True, check=False)


def test_the_committed_types_are_what_the_script_writes() -> None:
    done = run_generator("--check")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_newer_schema_makes_the_check_fail_with_the_command_to_run(tmp_path: Path) -> None:
    newer = tmp_path / "schema/v1" / SCHEMA.name
    newer.parent.mkdir(parents=True)
    shutil.copy(SCHEMA, newer)
    manifest = json.loads((PACKAGE / "package.json").read_text())
    (tmp_path / "package.json").write_text(json.dumps({**manifest, "version": "99.0.0"}))
    done = run_generator("--check", "--schema", newer)
    assert done.returncode == 1
    assert re.fullmatch(r".*_schema\.py is stale: run `python scripts/generate_acp\.py`\n", done.stderr)


def test_a_missing_schema_says_what_to_run(tmp_path: Path) -> None:
    done = run_generator("--schema", tmp_path / "absent.json")
    assert done.returncode == 1
    assert "make setup" in done.stderr
