"""Values go where the placeholders are, and everything else stays as it was written."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.prompts.errors import InvalidPrompt
from portico.prompts.template import Placeholder, parse_template

VALUES = {"name": "Ada", "other-one": "Bob", "empty": ""}


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("Hello {{ name }}!", "Hello Ada!"),
        ("{{name}}{{  other-one\t}}", "AdaBob"),
        ("[{{ empty }}]", "[]"),
        ("no braces, {one}, }} and } }", "no braces, {one}, }} and } }"),
        (r"\{{ name }}", "{{ name }}"),
        (r"\\{{ name }}", "\\Ada"),
        (r"\\\{{ name }}", "\\{{ name }}"),
        (r"a\b \\ \{ {{ name }}", r"a\b \\ \{ Ada"),
        ('{"a": {"b": {{ name }}}}', '{"a": {"b": Ada}}'),
        ("{{{ name }}}", "{Ada}"),
        (r"\{{{ name }}}", "{{{ name }}}"),
        ("", ""),
    ],
)
def test_braces_mean_what_the_page_says(written: str, shown: str) -> None:
    assert parse_template(written).fill(VALUES) == shown


@pytest.mark.parametrize("written", ["{{ }}", "{{ a b }}", "{{ a.b }}", "{{ name", "{{ name\n}}", "{{ é }}"])
def test_braces_that_mean_nothing_are_a_mistake_with_a_line_and_a_way_out(written: str) -> None:
    with pytest.raises(InvalidPrompt) as caught:
        parse_template(f"one {{{{ name }}}}\n\\{{{{\n  {written}", first_line=5)
    assert caught.value.line == 7
    assert caught.value.why.startswith("line 7: {{")
    assert "\\{{" in caught.value.why


def test_each_placeholder_knows_its_line() -> None:
    found = parse_template("{{ a }}\n\n\\{{\n{{ b }} {{ a }}", first_line=3).placeholders
    assert found == (Placeholder("a", 3), Placeholder("b", 6), Placeholder("a", 6))


@given(st.text(), st.text(), st.text())
def test_what_is_put_in_is_never_looked_at_again(before: str, value: str, after: str) -> None:
    written = f"{_escaped(before)} {{{{ name }}}} {_escaped(after)}"
    assert parse_template(written).fill({"name": value}) == f"{before} {value} {after}"


@given(st.text(alphabet="\\{} ab\n"))
def test_any_text_can_be_written(text: str) -> None:
    template = parse_template(_escaped(text))
    assert (template.fill({}), template.placeholders) == (text, ())


@given(st.text(alphabet="\\{} ab\n"))
def test_any_text_is_a_template_or_a_mistake_in_one_of_its_lines(text: str) -> None:
    fault = _fault(text)
    assert fault is None or (fault.line and "{{" in text.split("\n")[fault.line - 1])


@pytest.mark.timeout(20)
def test_a_file_full_of_backslashes_is_read_at_once() -> None:
    text = "\\" * 250_000
    assert parse_template(text).fill({}) == text


def _escaped(text: str) -> str:
    return re.sub(r"(\\*)(\{{2,})", lambda found: found[1] * 2 + "\\" + found[2], text)


def _fault(text: str) -> InvalidPrompt | None:
    names = dict.fromkeys(re.findall("[ab]+", text), "")
    try:
        parse_template(text).fill(names)
    except InvalidPrompt as error:
        return error
    return None
