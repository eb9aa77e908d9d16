"""Columns in every encoding, and the one range in which two texts differ."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portico.editors.language_servers.positions import (
    ENCODINGS,
    PositionEncoding,
    TextLines,
    difference,
    to_characters,
    to_units,
)
from portico.editors.language_servers.wire import LspPosition

TEXTS = st.text(alphabet="ab é🐍\n\r\u2028", max_size=30)


@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 7), ("utf-16", 4), ("utf-32", 3)])
def test_a_column_counts_units_of_the_encoding(encoding: PositionEncoding, column: int) -> None:
    assert to_units("é🐍a", encoding) == column
    assert to_characters("é🐍ab", column, encoding) == 3
    assert to_characters("é", 99, encoding) == 1


def test_lines_end_as_in_the_protocol_and_nowhere_else() -> None:
    lines = TextLines("a\r\nb\rc\nd\u2028e\fg")
    assert [lines.line(number) for number in range(5)] == ["a", "b", "c", "d\u2028e\fg", ""]
    assert lines.offset(LspPosition(line=9, character=0), "utf-16") == len(lines.text)


@given(TEXTS, TEXTS, st.sampled_from(ENCODINGS))
def test_a_text_with_its_difference_applied_is_the_new_text(
    old: str, new: str, encoding: PositionEncoding
) -> None:
    changed, replacement = difference(old, new, encoding)
    lines = TextLines(old)
    start, end = lines.offset(changed.start, encoding), lines.offset(changed.end, encoding)
    assert old[:start] + replacement + old[end:] == new


def test_a_small_change_of_a_large_text_is_sent_small() -> None:
    old = "word " * 10_000
    changed, replacement = difference(old, f"{old[:500]}x{old[500:]}", "utf-16")
    assert (changed.start.character, changed.end.character, replacement) == (500, 500, "x")
