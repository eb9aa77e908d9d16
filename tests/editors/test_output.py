"""The end of a command's output, cut between characters."""

from hypothesis import given
from hypothesis import strategies as st

from portico.editors.terminals import OutputTail


def test_characters_may_arrive_in_pieces() -> None:
    tail = OutputTail(100)
    pieces = [tail.add(bytes([byte])) for byte in "aü€😀".encode()]
    assert "".join(pieces) == tail.text == "aü€😀"
    assert not tail.truncated


def test_the_beginning_is_cut_at_a_character() -> None:
    tail = OutputTail(5)
    tail.add("a€€".encode())
    assert tail.text == "€"
    assert tail.truncated


def test_bytes_that_are_no_text_are_shown_as_such() -> None:
    tail = OutputTail(100)
    assert tail.add(b"a\xffb\xe2\x82") == "a\ufffdb"
    assert tail.finish() == "\ufffd"
    assert tail.text == "a\ufffdb\ufffd"


def test_a_limit_of_nothing_keeps_nothing() -> None:
    tail = OutputTail(0)
    assert tail.add(b"abc") == "abc"
    assert tail.text == ""
    assert tail.truncated


@given(st.lists(st.text(), max_size=10), st.integers(0, 40))
def test_the_tail_is_the_longest_end_that_fits(texts: list[str], limit: int) -> None:
    texts = [text.encode(errors="replace").decode() for text in texts]
    tail = OutputTail(limit)
    heard = "".join(tail.add(text.encode()) for text in texts)
    assert heard == "".join(texts)
    fitting = [heard[start:] for start in range(len(heard) + 1) if len(heard[start:].encode()) <= limit]
    assert tail.text == fitting[0]
    assert tail.truncated == (tail.text != heard)
