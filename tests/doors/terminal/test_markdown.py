"""The incremental block splitter: what it splits, and that nothing depends on how text arrives."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from portico.doors.terminal.markdown.blocks import BLOCK_SIZE, BlockSplitter, MarkdownBlock

FRAGMENTS = st.sampled_from(
    (
        "\n",
        "\n\n",
        "\r\n",
        " ",
        "    ",
        "\t",
        "```",
        "```python\n",
        "~~~\n",
        "- ",
        "  - ",
        "10. ",
        "1) ",
        "# ",
        "> ",
        "---\n",
        "===\n",
        "| a | b |\n",
        "|---|---|\n",
        "word",
        "`code`",
        "**",
        "x" * 30,
        "many words " * 6,
        "line\n" * 6,
        "é漢🎉",
        "",
    )
)
SMALL = {"block_size": 40, "code_lines": 4}
TEXTS = st.lists(FRAGMENTS, max_size=24).map("".join)


def split(*pieces: str, **limits: int) -> list[MarkdownBlock]:
    splitter = BlockSplitter(**limits)
    done: list[MarkdownBlock] = []
    for piece in pieces:
        done += splitter.feed(piece)
    return done + splitter.close()


def cut_at(text: str, places: list[int]) -> list[str]:
    edges = [0, *sorted({place % (len(text) + 1) for place in places}), len(text)]
    return [text[start:end] for start, end in itertools.pairwise(edges)]


def shapes(text: str) -> list[tuple[str, str]]:
    return [(block.kind, block.body) for block in split(text)]


@settings(deadline=None)
@given(TEXTS, st.lists(st.integers(min_value=0), max_size=12))
def test_the_blocks_are_the_same_however_the_text_was_cut_into_pieces(text: str, places: list[int]) -> None:
    assert split(*cut_at(text, places), **SMALL) == split(text, **SMALL)


@settings(deadline=None)
@given(TEXTS, st.lists(st.integers(min_value=0), max_size=12))
def test_finished_blocks_and_the_open_rest_are_the_text_at_every_moment(text: str, places: list[int]) -> None:
    splitter = BlockSplitter(**SMALL)
    finished, seen = "", ""
    for piece in cut_at(text, places):
        seen += piece
        finished += "".join(block.source for block in splitter.feed(piece))
        assert finished + splitter.rest == seen
    assert finished + "".join(block.source for block in splitter.close()) == text


@settings(deadline=None)
@given(TEXTS)
def test_looking_at_the_open_rest_changes_nothing(text: str) -> None:
    splitter = BlockSplitter(**SMALL)
    done: list[MarkdownBlock] = []
    for line in text.splitlines(keepends=True):
        done += splitter.feed(line)
        rest = splitter.rest
        splitter.preview()
        assert splitter.rest == rest
    assert done + splitter.close() == split(text, **SMALL)


@settings(deadline=None)
@given(TEXTS)
def test_the_open_rest_stays_small_however_long_the_text(text: str) -> None:
    splitter = BlockSplitter(**SMALL)
    for character in text:
        splitter.feed(character)
        assert len(splitter.rest) <= 4 * SMALL["block_size"]


@settings(deadline=None)
@given(st.text())
def test_any_text_at_all_comes_back_whole(text: str) -> None:
    assert "".join(block.source for block in split(text)) == text


def test_paragraphs_headings_and_rules_are_blocks_of_their_own() -> None:
    assert shapes("# One\nTwo\nthree\n\n---\n## Four\n\nFive\n===\n") == [
        ("heading", "# One"),
        ("prose", "Two\nthree"),
        ("rule", "---"),
        ("heading", "## Four"),
        ("prose", "Five\n==="),
    ]


def test_each_list_item_is_a_block_with_its_marker_and_depth() -> None:
    blocks = split("Look:\n- a\n  - b\n\n    more of b\n- c\n1. one\n10. ten\n")
    assert [(block.kind, block.indent, block.marker, block.body) for block in blocks] == [
        ("prose", 0, "", "Look:"),
        ("item", 0, "-", "a"),
        ("item", 2, "-", "b"),
        ("prose", 4, "", "more of b"),
        ("item", 0, "-", "c"),
        ("item", 0, "1.", "one"),
        ("item", 0, "10.", "ten"),
    ]


def test_a_year_at_the_start_of_a_line_begins_no_list() -> None:
    assert shapes("It was in\n2019. Then\n") == [("prose", "It was in\n2019. Then")]


def test_a_fence_keeps_blank_lines_and_marks_that_mean_nothing_in_code() -> None:
    (block,) = split("```sh\n# not a heading\n\n- not a list\n```\n")
    assert (block.kind, block.language, block.body) == ("code", "sh", "# not a heading\n\n- not a list")


def test_a_fence_is_closed_only_by_its_own_mark() -> None:
    assert shapes("````\n```\n~~~\n````\nafter") == [("code", "```\n~~~"), ("prose", "after")]


def test_a_fence_inside_a_list_item_is_dedented_and_the_item_goes_on_after_it() -> None:
    blocks = split("1. Run:\n   ```\n   make\n     -j2\n   ```\n   and wait\n2. Done\n")
    assert [(block.kind, block.indent, block.body) for block in blocks] == [
        ("item", 0, "Run:"),
        ("code", 3, "make\n  -j2"),
        ("prose", 3, "and wait"),
        ("item", 0, "Done"),
    ]


def test_a_list_item_may_be_a_fence() -> None:
    (block,) = split("- ```py\n  x = 1\n  ```\n")
    assert (block.kind, block.marker, block.language, block.body) == ("code", "-", "py", "x = 1")


def test_a_fence_that_never_closes_ends_with_the_text() -> None:
    assert shapes("```\nhalf") == [("code", "half")]


def test_a_last_fence_line_without_a_newline_still_closes() -> None:
    assert shapes("```\ncode\n```") == [("code", "code")]


def test_a_long_fence_is_given_out_every_few_lines_with_its_language() -> None:
    code = "".join(f"line {number}\n" for number in range(100))
    blocks = split(f"```python\n{code}```\n")
    assert [block.resumed for block in blocks] == [False, True, True, True, True]
    assert {block.language for block in blocks} == {"python"}
    assert "\n".join(block.body for block in blocks if block.body) == code.rstrip()


def test_a_long_table_brings_its_header_again() -> None:
    header = "| name | value |\n|------|-------|\n"
    blocks = split(header + "| some name | some value |\n" * 400)
    assert len(blocks) > 1
    assert all(block.kind == "table" for block in blocks)
    assert {block.header for block in blocks[1:]} == {header}


def test_a_quote_with_a_lazy_line_is_one_block() -> None:
    assert shapes("text\n> quote\nlazy\n> more\n\nafter") == [
        ("prose", "text"),
        ("quote", "> quote\nlazy\n> more"),
        ("prose", "after"),
    ]


def test_a_line_without_end_is_split_at_a_space() -> None:
    blocks = split("word " * 3000)
    assert len(blocks) > 2
    assert all(len(block.source) <= 2 * BLOCK_SIZE for block in blocks)
    assert all(block.source.endswith(" ") for block in blocks)
    assert [block.resumed for block in blocks][:2] == [False, True]


@pytest.mark.parametrize(
    ("so_far", "shown"),
    [
        ("Some **bold", [("prose", "Some **bold**")]),
        ("Some **bold*", [("prose", "Some **bold**")]),
        ("Call `run", [("prose", "Call `run`")]),
        ("Text\n\n``", []),
        ("Text\n\n```py", [("code", "")]),
        ("Text\n-", [("prose", "Text")]),
        ("Text\n# Head", [("prose", "Text"), ("heading", "# Head")]),
        ("```\ncode\n``", [("code", "code")]),
    ],
)
def test_the_open_rest_is_shown_as_it_will_most_likely_end(so_far: str, shown: list[tuple[str, str]]) -> None:
    splitter = BlockSplitter()
    splitter.feed(so_far)
    assert [(block.kind, block.body) for block in splitter.preview()] == shown
