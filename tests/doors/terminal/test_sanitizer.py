"""Text made safe for a terminal."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from portico.doors.terminal.sanitizer import StreamCleaner, clean, clean_line, clean_output, safe_link


@pytest.mark.parametrize(
    ("dirty", "cleaned"),
    [
        ("plain\ttext\n漢字 🎉", "plain\ttext\n漢字 🎉"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("a\x1b]0;title\x07b", "ab"),
        ("a\x1b]52;c;data\x1b\\b", "ab"),
        ("a\x1b]0;never ends\nb", "a0;never ends\nb"),
        ("a\x1bPdevice\x1b\\b", "ab"),
        ("a\x9b31mb", "ab"),
        ("a\r\nb\rc", "a\nbc"),
        ("a\u2028b", "a\nb"),
        ("\u202egnp.exe", "<U+202E>gnp.exe"),
        ("a\u200bb\ufeff", "a<U+200B>b<U+FEFF>"),
        ("a\U000e0041b", "a<U+E0041>b"),
        ("👩\u200d👧", "👩\u200d👧"),
        ("\ud800", "\ufffd"),
    ],
)
def test_what_cannot_be_seen_is_removed_or_spelt_out(dirty: str, cleaned: str) -> None:
    assert clean(dirty) == cleaned


@settings(deadline=None)
@given(st.text(alphabet=st.sampled_from("\x1b\x9b\x90[]P;?0189mAJ\\\x07\x00\x7f\r\n ab\u202e")))
def test_nothing_clean_can_command_a_terminal(dirty: str) -> None:
    assert not any(ord(character) < 32 and character != "\n" for character in clean(dirty))
    assert not any(0x7F <= ord(character) <= 0x9F for character in clean(dirty))


@settings(deadline=None)
@given(
    st.text(alphabet=st.sampled_from("\x1b[]m;13\x07\\A ab\r\n")),
    st.lists(st.integers(min_value=0, max_value=60)),
)
def test_pieces_of_a_stream_give_what_the_whole_would(dirty: str, places: list[int]) -> None:
    edges = [0, *sorted(place for place in places if place < len(dirty)), len(dirty)]
    cleaner = StreamCleaner()
    pieces = [cleaner.feed(dirty[start:end]) for start, end in pairwise(edges)]
    streamed = "".join(pieces) + cleaner.close()
    assert not any(ord(character) < 32 and character != "\n" for character in streamed)
    if "\x1b" not in dirty:
        assert streamed == clean(dirty)


def test_one_line_has_no_breaks_and_single_spaces() -> None:
    assert clean_line("  a\r\nb\n\n c\td ") == "a b c d"


@pytest.mark.parametrize(
    ("output", "left"),
    [
        ("\x1b[32mok\x1b[0m", "\x1b[32mok\x1b[0m"),
        ("\x1b[1;38;5;200mx", "\x1b[1;38;5;200mx"),
        ("\x1b[38;2;1;2;3mx", "\x1b[38;2;1;2;3mx"),
        ("\x1b[38;2;1mx", "x"),
        ("\x1b[8mhidden", "hidden"),
        ("\x1b[31;8mhidden", "\x1b[31mhidden"),
        ("\x1b[5A\x1b[Kmoved", "moved"),
        ("10%\r50%\r100%\r\nnext", "100%\nnext"),
        ("half \x1b[3", "half 3"),
    ],
)
def test_a_command_keeps_its_colours_and_nothing_else(output: str, left: str) -> None:
    assert clean_output(output) == left


@pytest.mark.parametrize(
    ("address", "safe"),
    [
        ("https://example.org", True),
        ("HTTP://example.org", True),
        ("file:///tmp/x", True),
        ("javascript:alert(1)", False),
        ("vscode://x", False),
        ("data:text/html,x", False),
        ("src/app.py", False),
        ("http://[", False),
    ],
)
def test_a_link_is_clickable_only_with_a_harmless_scheme(address: str, safe: bool) -> None:
    assert safe_link(address) is safe
