"""QR codes for the terminal, held against codes that foreign readers have read."""

import hashlib

from portico.doors.terminal.qr_code import draw_qr_code, encode

# Of each version; OpenCV's reader gave the text back for every one of them.
READ_BACK = {
    1: (21, "7571c2470b993b48"),
    17: (21, "1709704c40eb149f"),
    18: (25, "490a446f5ad5fc3c"),
    32: (25, "f247aacfa0e7f206"),
    33: (29, "60f9c1843f3b00ca"),
    53: (29, "dcf24f14f8a1dad1"),
    60: (33, "29f425a71565f400"),
    78: (33, "5bac9cb016ffb691"),
    90: (37, "c6ab4af71c7c4c4c"),
    106: (37, "8dd1d40b11cabe52"),
    107: (41, "9c671669ebb5987d"),
    134: (41, "fe99315e201375a5"),
}


def text_of(length: int) -> str:
    return ("https://portico.example/#token=" + "abcdefghij23456789" * 10)[:length]


def test_codes_of_every_version_are_those_that_a_reader_read() -> None:
    for length, (size, digest) in READ_BACK.items():
        modules = encode(text_of(length).encode())
        assert modules is not None
        assert len(modules) == size
        drawn = "".join("1" if one else "0" for row in modules for one in row)
        assert hashlib.sha256(drawn.encode()).hexdigest()[:16] == digest


def test_a_code_is_drawn_in_half_blocks_with_a_margin_and_a_long_text_not_at_all() -> None:
    drawn = draw_qr_code(text_of(47))
    assert drawn is not None
    lines = drawn.splitlines()
    assert {len(line) for line in lines} == {33}
    assert lines[0] == "█" * 33
    assert draw_qr_code("x" * 135) is None
