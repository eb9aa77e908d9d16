"""Search/replace blocks: where they fit, what they keep, and what a model is told if they do not fit."""

import pytest

from portico.domain.errors import InvalidInput
from portico.porter.search_replace import apply_block, parse_blocks
from portico.porter.text_replacement import TextReplacement

CODE = "class A:\n    def one(self):\n        return 1\n\n    def two(self):\n        return 2\n"


@pytest.mark.parametrize(
    ("content", "search", "replace", "after"),
    [
        pytest.param("a = 1\nb = 2\n", "a = 1\n", "a = 3\n", "a = 3\nb = 2\n", id="exact"),
        pytest.param("a = 1\nb = 2\n", "b = 2\n", "", "a = 1\n", id="deletes"),
        pytest.param("x\nb = 2", "b = 2\n", "b = 3\n", "x\nb = 3", id="no line end in the file"),
        pytest.param(
            CODE,
            "def one(self):\n    return 1",
            "def one(self):\n    if self:\n        return 3",
            CODE.replace("        return 1", "        if self:\n            return 3"),
            id="indentation of the file is kept",
        ),
        pytest.param(
            CODE,
            "        def two(self):\n            return 2\n",
            "        def two(self):\n            return 4\n\n    END = 1\n",
            CODE.replace("return 2\n", "return 4\n\nEND = 1\n"),
            id="less indented than the lines to find",
        ),
        pytest.param(
            "def f():\n\tif x:\n\t\treturn 1\n",
            "def f():\n    if x:\n        return 1\n",
            "def f():\n    if x:\n        if y:\n            return 1\n",
            "def f():\n\tif x:\n\t\tif y:\n\t\t\treturn 1\n",
            id="spaces for tabs",
        ),
        pytest.param("a  =  1\nb = 2\n", "a = 1", "a = 5", "a = 5\nb = 2\n", id="spaces inside a line"),
        pytest.param("a = 1\r\n\tb = 2\r\n", "  b = 2", "  b = 3", "a = 1\r\n\tb = 3\r\n", id="line ends"),
        pytest.param("\n\na = 1\n", "\n\n\n  a = 1\n\n", "  a = 2\n", "\n\na = 2\n", id="blank lines around"),
        pytest.param(
            "a = 1\nb = 2\n", "1\ta = 1\n2\tb = 2", "1\ta = 1\n2\tb = 3", "a = 1\nb = 3\n", id="numbers"
        ),
    ],
)
def test_a_block_is_applied(content: str, search: str, replace: str, after: str) -> None:
    assert apply_block(content, TextReplacement(search, replace)) == after


@pytest.mark.parametrize(
    ("content", "search", "told"),
    [
        ("x = 1\ny = 2\nx = 1\n", "x = 1\n", "`search` fits 2 places, on lines 1, 3."),
        (" x = 1\ny = 2\n x = 1\n", "\tx = 1", "`search` fits 2 places, on lines 1, 3."),
        ("x = 1\n", "   \n", "`search` is empty."),
        ("value = compute(1)\n", "value = compute(2)\n", "`search` is not in the file."),
        ("new\n", "old\n", "the change may be made already"),
    ],
)
def test_a_block_without_one_place_is_refused(content: str, search: str, told: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        apply_block(content, TextReplacement(search, "new\n"))
    assert told in refused.value.message
    assert refused.value.suggestion


def test_the_nearest_lines_are_named() -> None:
    with pytest.raises(InvalidInput) as refused:
        apply_block("a = 1\nvalue = compute(1)\n", TextReplacement("value = compute(2)", "x"))
    assert "2: value = compute(1)" in (refused.value.suggestion or "")


def test_blocks_are_read_from_text() -> None:
    text = "Here:\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\nand\n<<<<<<< SEARCH\nc\n=======\n>>>>>>> REPLACE\n"
    assert parse_blocks(text) == (TextReplacement("a\n", "b\n"), TextReplacement("c\n", ""))
