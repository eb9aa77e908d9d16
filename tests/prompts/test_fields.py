"""The fields of a prompt file: what each means, and what is wrong with a broken one."""

import pytest

from portico.config.model_settings import Allowance
from portico.domain.errors import InvalidInput
from portico.prompts.errors import InvalidPrompt
from portico.prompts.prompt import read_prompt

WHOLE = b"""---
name: team/translate
description: Translate a text
tags: [text, team, text]
version: 1.2
model: acme:large
mode: read-only
output: editor
budget: $0.05,20k
variables:
  input:
    required: true
  language:
    default: French
  tone:
    optional: true
  audience:
    required: false
---
{{ input }} {{ language }} {{ tone }} {{ audience }}
"""


def test_every_field_is_read() -> None:
    matter = read_prompt(WHOLE).matter
    assert (matter.name, matter.tags, matter.version) == ("team/translate", ("text", "team"), "1.2")
    assert (matter.model, matter.mode, matter.output) == ("acme:large", "read-only", "editor")
    assert matter.budget == Allowance(dollars=0.05, tokens=20_000)
    assert {one.name: one.default for one in matter.variables} == {
        "input": None,
        "language": "French",
        "tone": "",
        "audience": "",
    }
    assert read_prompt(WHOLE).warnings == ()


def test_tags_may_be_one_text_with_commas() -> None:
    assert read_prompt(b"---\ntags: a, b,, a\n---\nx").matter.tags == ("a", "b")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("name: my prompt", "not a valid name"),
        ("name: ../x", "not a valid name"),
        ("tags: {a: b}", "tags must be text"),
        ("version: [1]", "version must be text"),
        ("version:", "version must be one line"),
        ('model: "a\\nb"', "model must be one line"),
        ("mode: careful", "unknown mode 'careful'; available: read-only, direct"),
        ("output: printer", "unknown output 'printer'; available: chat, file, editor"),
        ("budget: much", "budget must be dollars or tokens"),
        ("budget: 0.05", "write $0.05 for dollars"),
        ("variables: {a: {required: maybe}}", "unknown required of a 'maybe'; available: true, false"),
        ("variables: {a: {required: true, default: x}}", "a cannot be required and have a default"),
        ("variables: {a: {required: true, optional: true}}", "a cannot be required and have a default or be"),
    ],
)
def test_a_broken_field_is_named_with_its_line(line: str, problem: str) -> None:
    with pytest.raises(InvalidPrompt) as caught:
        read_prompt(f"---\n{line}\n---\ntext".encode())
    assert caught.value.why.startswith("line 2: ")
    assert problem in caught.value.why


def test_typed_values_come_before_those_of_the_session_and_defaults_last() -> None:
    prompt = read_prompt(WHOLE)
    session = {"language": "Latin", "tone": "dry", "unrelated": "x"}
    filled = prompt.fill("translate", {"input": "a {{ tone }}", "tone": "warm"}, session)
    assert filled.text == "a {{ tone }} Latin warm "
    assert (filled.session, filled.defaults) == ({"language": "Latin"}, {"audience": ""})
    assert filled.variables == ("audience", "input", "language", "tone")
    assert prompt.fill("translate", {}, {"input": "kept"}).text.startswith("kept French")
    with pytest.raises(InvalidInput, match="unrelated"):
        prompt.fill("translate", {"input": "a", "unrelated": "x"})
