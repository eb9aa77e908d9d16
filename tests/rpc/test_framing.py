"""Lines come out whole and in order, however the bytes were cut."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from portico.rpc.framing import LineSplitter, OverlongLine


def split_all(chunks: list[bytes], limit: int) -> list[bytes | OverlongLine]:
    splitter = LineSplitter(limit)
    lines = [line for chunk in chunks for line in splitter.feed(chunk)]
    rest = splitter.end()
    return lines if rest is None else [*lines, rest]


PIECES = st.lists(st.text("ab\n", max_size=40).map(str.encode))


@given(PIECES)
def test_any_cutting_of_the_bytes_gives_the_same_lines(chunks: list[bytes]) -> None:
    whole = b"".join(chunks)
    expected = whole.split(b"\n")
    if not expected[-1]:
        expected.pop()
    assert split_all(chunks, 1000) == expected


@given(PIECES, st.integers(1, 8))
def test_a_line_beyond_the_limit_is_reported_by_its_size_and_not_kept(
    chunks: list[bytes], limit: int
) -> None:
    whole = b"".join(chunks).split(b"\n")
    if not whole[-1]:
        whole.pop()
    expected = [OverlongLine(len(line), line) if len(line) > limit else line for line in whole]
    assert split_all(chunks, limit) == expected


@given(st.integers(1, 5000))
def test_of_a_line_beyond_the_limit_the_two_ends_are_kept(size: int) -> None:
    line = b"a" * 1024 + b"x" * 10_000 + b"z" * 1024
    chunks = [line[start : start + size] for start in range(0, len(line), size)]
    expected = [OverlongLine(len(line), b"a" * 1024, b"z" * 1024), b"next"]
    assert split_all([*chunks, b"\nnext"], 2000) == expected
    assert split_all([line + b"\nnext"], 2000) == expected


@given(st.lists(st.integers(0, 12), max_size=3))
def test_a_byte_order_mark_at_the_very_beginning_is_no_part_of_the_first_line(cuts: list[int]) -> None:
    whole = b"\xef\xbb\xbfone\n\xef\xbb\xbftwo"
    edges = [0, *sorted(cuts), len(whole)]
    chunks = [whole[start:end] for start, end in itertools.pairwise(edges)]
    assert split_all(chunks, 1000) == [b"one", b"\xef\xbb\xbftwo"]
