"""Diffs that stay small and quick, and code that is coloured in pieces as it would be whole."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from portico.domain.values import DiffPart
from portico.doors.terminal.markdown.highlighter import highlight
from portico.doors.terminal.render.diff_view import DiffView, compare


def difference(old: str | None, new: str) -> DiffView:
    return compare(DiffPart(path="a.py", old_text=old, new_text=new))


def marks(diff: DiffView) -> list[str]:
    return [f"{row.mark}{row.line or ''} {row.text}".rstrip() for row in diff.rows]


def test_a_change_stands_between_two_lines_of_context_with_its_numbers() -> None:
    old = "\n".join("abcdefgh")
    assert marks(difference(old, old.replace("e", "E\nnew"))) == [
        " 3 c",
        " 4 d",
        "-5 e",
        "+5 E",
        "+6 new",
        " 7 f",
        " 8 g",
    ]


def test_two_changes_far_apart_have_a_gap_between_them() -> None:
    old = "".join(f"{number}\n" for number in range(40))
    diff = difference(old, old.replace("5\n", "five\n", 1).replace("35\n", "thirty-five\n"))
    assert "…" in [row.mark for row in diff.rows]
    assert (diff.added, diff.removed) == (2, 2)


def test_a_new_file_is_all_added() -> None:
    diff = difference(None, "one\ntwo\n")
    assert (diff.created, diff.added, diff.removed) == (True, 2, 0)
    assert marks(diff) == ["+1 one", "+2 two"]


def test_only_line_ends_changed_gives_no_rows() -> None:
    assert difference("a\r\nb\r\n", "a\nb\n").rows == ()


def test_two_large_texts_without_likeness_are_not_searched_for_any() -> None:
    old = "".join(f"old {number % 7}\n" for number in range(3000))
    new = "".join(f"new {number % 7}\n" for number in range(3000))
    diff = difference(old, new)
    assert (diff.added, diff.removed) == (3000, 3000)


@settings(deadline=None)
@given(st.lists(st.sampled_from("abc"), max_size=12), st.lists(st.sampled_from("abc"), max_size=12))
def test_the_rows_account_for_every_added_and_removed_line(old: list[str], new: list[str]) -> None:
    diff = difference("\n".join(old), "\n".join(new))
    assert len(new) - len(old) == diff.added - diff.removed
    assert sum(row.mark == "+" for row in diff.rows) == diff.added
    assert sum(row.mark == "-" for row in diff.rows) == diff.removed


CODE = (
    "def one():\n"
    '    """Several\n'
    "    lines, def among them.\n"
    "\n"
    '    """\n'
    "    return 'x'  # why\n"
    "\n"
    "class Two:\n"
    "    value = 3\n"
)


@pytest.mark.parametrize("lines_a_piece", [1, 2, 3, 4])
def test_code_in_pieces_is_coloured_like_the_whole(lines_a_piece: int) -> None:
    whole, _ = highlight(CODE.rstrip("\n"), "python")
    lines = CODE.rstrip("\n").split("\n")
    carried = ""
    seen: list[tuple[str, str]] = []
    for start in range(0, len(lines), lines_a_piece):
        piece, carried = highlight("\n".join(lines[start : start + lines_a_piece]), "python", carried)
        seen += _styled(piece)
    assert seen == _styled(whole)


def _styled(text: object) -> list[tuple[str, str]]:
    from rich.text import Text

    assert isinstance(text, Text)
    return [
        (character, str(span.style))
        for span in text.spans
        for character in text.plain[span.start : span.end]
        if not character.isspace() and str(span.style)
    ]


@pytest.mark.parametrize("language", ["python", "no-such-language", "", "html", "json", "diff", "bash"])
@pytest.mark.parametrize("carried", ["", '"""open\n'])
def test_colouring_changes_no_character(language: str, carried: str) -> None:
    code = 'x = "a"\n  <b>\n{"k": 1}\n\n+added\n'
    assert highlight(code, language, carried)[0].plain.rstrip("\n") == code.rstrip("\n")


def test_a_very_long_line_of_code_is_left_uncoloured() -> None:
    text, carried = highlight("x = " + "1" * 5000, "python")
    assert not text.spans
    assert carried == ""
