"""Decoding: safe in threads, and nowhere past the module that makes it so."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from portico.domain import codecs

PROGRAM = Path(__file__).with_name("decode_in_threads.py")
ROOT = Path(__file__).parents[2]


def test_types_used_first_in_many_threads_at_once_crash_no_process() -> None:
    programs = [subprocess.Popen([sys.executable, "-X", "faulthandler", PROGRAM]) for _ in range(4)]
    assert [program.wait(100) for program in programs] == [0, 0, 0, 0]


class _Point(msgspec.Struct):
    x: int


def test_json_messagepack_and_plain_values_become_the_type_that_was_asked_for() -> None:
    assert codecs.decode_json(b'{"x":1}', _Point) == _Point(1)
    assert codecs.decode_json('{"x":1}') == {"x": 1}
    assert codecs.decode_msgpack(msgspec.msgpack.encode({"x": 1}), _Point) == _Point(1)
    assert codecs.convert([{"x": 1}], list[_Point]) == [_Point(1)]
    assert codecs.convert(None, _Point | None) is None
    assert codecs.json_decoder(_Point) is codecs.json_decoder(_Point)


def test_what_does_not_fit_is_refused_with_the_place_where() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"\$\.x"):
        codecs.decode_json(b'{"x":"one"}', _Point)
    with pytest.raises(msgspec.ValidationError, match=r"\$\.x"):
        codecs.convert({"x": "one"}, _Point)
    with pytest.raises(msgspec.DecodeError):
        codecs.decode_json(b"{")


def test_a_type_that_cannot_be_decoded_is_refused_each_time() -> None:
    for _ in range(2):
        with pytest.raises(TypeError):
            codecs.decode_json(b"{}", dict[str, int] | dict[int, str])


@pytest.mark.parametrize(
    "line",
    [
        "msgspec.json.decode(b'1', type=int)",
        "msgspec.json.Decoder(int)",
        "msgspec.msgpack.decode(b'1', type=int)",
        "msgspec.msgpack.Decoder(int)",
        "msgspec.convert(1, int)",
        "from msgspec.json import decode",
        "from msgspec import convert",
        "import msgspec.yaml",
    ],
)
def test_the_check_finds_decoding_that_goes_past_it(line: str) -> None:
    checked = subprocess.run(
        [
            Path(sys.executable).with_name("ruff"),
            "check",
            "--select=TID251",
            "--stdin-filename=src/portico/new.py",
            "-",
        ],
        input=f"import msgspec\n{line}\n",
        text=True,
        cwd=ROOT,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (checked.returncode, "portico.domain.codecs" in checked.stdout) == (1, True)
