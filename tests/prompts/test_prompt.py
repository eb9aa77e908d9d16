"""A file is a prompt with what it needs, or it is told what is wrong with it, and where."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.domain.errors import InvalidInput
from portico.prompts.errors import InvalidPrompt
from portico.prompts.front_matter import PromptVariable
from portico.prompts.prompt import MAX_PROMPT_BYTES, read_prompt

TRANSLATE = b"""---
description: Translate something
variables:
  input:
    description: what to translate
  language:
    default: French
  tone:
---

Translate into {{ language }}, {{ tone }}:

{{ input }}

"""


def test_a_prompt_knows_what_it_is_for_and_what_it_needs() -> None:
    prompt = read_prompt(TRANSLATE)
    assert prompt.description == "Translate something"
    assert prompt.variables == (
        PromptVariable(name="input", description="what to translate"),
        PromptVariable(name="language", default="French"),
        PromptVariable(name="tone"),
    )
    assert prompt.text == "Translate into {{ language }}, {{ tone }}:\n\n{{ input }}"
    assert prompt.digest == hashlib.sha256(TRANSLATE).hexdigest()
    assert prompt.warnings == ()


def test_values_and_defaults_are_told_apart() -> None:
    filled = read_prompt(TRANSLATE).fill("translate", {"input": "{{ tone }}", "tone": "kindly"})
    assert filled.text == "Translate into French, kindly:\n\n{{ tone }}"
    assert filled.given == {"input": "{{ tone }}", "tone": "kindly"}
    assert filled.defaults == {"language": "French"}


def test_a_value_wins_over_the_default_even_when_it_is_empty() -> None:
    filled = read_prompt(TRANSLATE).fill("translate", {"input": "x", "tone": "", "language": ""})
    assert (filled.text, filled.defaults) == ("Translate into , :\n\nx", {})


def test_whoever_fills_it_in_by_hand_finds_the_defaults_in_place() -> None:
    pieces = read_prompt(TRANSLATE).open_pieces()
    assert pieces[:3] == ["Translate into ", "French", ", "]
    assert [one.name for one in pieces if isinstance(one, PromptVariable)] == ["tone", "input"]
    assert pieces[-1] == PromptVariable(name="input", description="what to translate")


def test_missing_values_are_named_with_what_they_are_for() -> None:
    with pytest.raises(InvalidInput) as caught:
        read_prompt(TRANSLATE).fill("translate", {})
    assert "input (what to translate); tone" in caught.value.message
    assert "language" not in caught.value.message
    assert "--set tone=" in str(caught.value.suggestion)
    assert "--input -" in str(caught.value.suggestion)


@pytest.mark.parametrize(("key", "hint"), [("langage", "language"), ("zzz", "input, language, tone")])
def test_a_value_without_a_place_is_refused_with_the_names_there_are(key: str, hint: str) -> None:
    with pytest.raises(InvalidInput, match=key) as caught:
        read_prompt(TRANSLATE).fill("translate", {key: "x"})
    assert hint in str(caught.value.suggestion)


@pytest.mark.parametrize("written", [b"no", b"007", b"~", b"null", b'"no"', b"1e3", b"2026-11-16"])
def test_a_default_is_the_text_that_was_written(written: bytes) -> None:
    prompt = read_prompt(b"---\nvariables:\n  a:\n    default: %s\n---\n{{ a }}" % written)
    assert prompt.fill("x", {}).text == written.decode().strip('"')


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"just text\n", "just text"),
        (b"\xef\xbb\xbf---\ndescription: x\n---\nwith a mark", "with a mark"),
        (b"---\r\nvariables:\r\n  a:\r\n    default: b\r\n---\r\nfrom\r\n{{ a }}\r\n", "from\nb"),
        (b"---\n---\nempty matter", "empty matter"),
        (b"---\nvariables:\n---  \nno variables\n---\nrule", "no variables\n---\nrule"),
        (b"--- not a fence\ntext", "--- not a fence\ntext"),
        (b"---\ndescription: only\n---", ""),
        (b"", ""),
    ],
)
def test_files_come_in_many_forms(data: bytes, text: str) -> None:
    assert read_prompt(data).fill("x", {}).text == text


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"---\ndescription: x\n", "line 1: the front matter has no closing"),
        (b"---\ndescription: [\n---\n", "not valid YAML"),
        (b"---\njust words\n---\n", "line 2: the front matter must be a mapping"),
        (b"---\ndescription: [a]\n---\n", "line 2: description must be text"),
        (b"---\nvariables: [a, b]\n---\n", "line 2: variables must be a mapping"),
        (b"---\nvariables:\n  a: French\n---\n", "line 3: a must be a mapping"),
        (b"---\nvariables:\n  a:\n    kind: text\n---\n", "line 4: a can have description"),
        (b"---\nvariables:\n  a:\n    default: [1]\n---\n", "line 4: the default of a must be text"),
        (b"---\nvariables:\n  a b:\n---\n", "line 3: 'a b' is not a valid name"),
        (b"---\nvariables:\n  a:\n  a:\n---\n", "line 4: duplicate key 'a'"),
        (b"---\na: &x 1\nb: *x\n---\n", "line 2: anchors"),
        (b"---\na: " + b"[" * 5000 + b"\n---\n", "nested"),
        (b"---\na: \x01\n---\n", "YAML"),
        (b'---\na: "\\UFFFFFFFF"\n---\n', "YAML"),
        (b"---\nvariables:\n  a:\n---\n\n\n{{ a }}\n{{ b }}", "line 8: {{ b }} is not declared"),
        (b"one\ntwo \xff", "line 2: the file is not UTF-8"),
        (b"x" * (MAX_PROMPT_BYTES + 1), "larger than 256 KB"),
    ],
)
def test_a_mistake_is_named_with_its_line(data: bytes, why: str) -> None:
    with pytest.raises(InvalidPrompt) as caught:
        read_prompt(data)
    assert why in caught.value.why


def test_the_largest_file_is_read() -> None:
    assert len(read_prompt(b"x" * MAX_PROMPT_BYTES).text) == MAX_PROMPT_BYTES


def test_what_is_useless_is_a_warning() -> None:
    prompt = read_prompt(b"---\nx: 1\ny: 2\nvariables:\n  idle:\n    default: x\n---\ntext")
    assert len(prompt.warnings) == 2
    assert "idle" in prompt.warnings[0]
    assert prompt.warnings[1] == "Unknown fields in the front matter are ignored: x, y."
    assert prompt.fill("x", {}).text == "text"


@given(st.binary() | st.text().map(lambda text: f"---\n{text}\n---\n{text}".encode(errors="replace")))
def test_any_bytes_are_a_prompt_or_are_told_why_not(data: bytes) -> None:
    fault = _fault(data)
    assert fault is None or fault.why


def _fault(data: bytes) -> InvalidPrompt | None:
    try:
        read_prompt(data)
    except InvalidPrompt as error:
        return error
    return None
