"""Standard input and output as a stream, over pipes, files and terminals."""

import fcntl
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ECHO = """
    import asyncio, subprocess, sys
    from portico.rpc.stdio import standard_streams
    from portico.rpc.streams import StreamClosed

    async def main():
        stream = await standard_streams()
        print("a stray word")
        subprocess.run(["echo", "the word of a child"])
        while data := await stream.read():
            stream.write(b"<" + data + b">")
            await stream.drain()
        await stream.close()

    try:
        asyncio.run(main())
    except StreamClosed:
        sys.exit(3)
"""


def echo(**streams: object) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(  # type: ignore[call-overload, no-any-return]
        [sys.executable, "-c", textwrap.dedent(ECHO)], stderr=subprocess.PIPE, **streams
    )


def finish(process: "subprocess.Popen[bytes]") -> bytes:
    """Standard error, after it has exited successfully."""
    _, complaints = process.communicate(timeout=30)
    assert process.returncode == 0, complaints
    return complaints


def test_pipes_carry_only_what_the_stream_was_given() -> None:
    process = echo(stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    out, err = process.communicate(b"hello", timeout=30)
    assert out == b"<hello>"
    assert err == b"a stray word\nthe word of a child\n"


def test_files_are_read_to_their_end_and_written(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"x" * 1_000_000)
    with (tmp_path / "in").open("rb") as source, (tmp_path / "out").open("wb") as sink:
        finish(echo(stdin=source, stdout=sink))
    written = (tmp_path / "out").read_bytes()
    assert written.replace(b"><", b"") == b"<" + b"x" * 1_000_000 + b">"


def test_nothing_on_both_sides_is_an_end_at_once() -> None:
    finish(echo(stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL))


def test_a_terminal_stays_as_it_was_for_the_shell_that_owns_it() -> None:
    controller, terminal = os.openpty()
    try:
        process = echo(stdin=terminal, stdout=terminal)
        os.write(controller, b"hello\n")
        heard = b""
        while b"<hello\r\n>" not in heard:
            heard += os.read(controller, 1000)
        assert not fcntl.fcntl(terminal, fcntl.F_GETFL) & os.O_NONBLOCK
        os.write(controller, b"\x04")
        finish(process)
    finally:
        os.close(controller)
        os.close(terminal)


def test_a_reader_that_went_away_ends_the_writing() -> None:
    reading, writing = os.pipe()
    process = echo(stdin=subprocess.PIPE, stdout=writing)
    os.close(writing)
    os.close(reading)
    assert process.stdin is not None
    process.stdin.write(b"hello")
    process.stdin.flush()
    process.communicate(timeout=30)
    assert process.returncode == 3


@pytest.mark.parametrize("size", [1, 70_000, 3_000_000])
def test_every_byte_comes_through_in_order(size: int) -> None:
    sent = bytes(number % 58 + 64 for number in range(size))
    process = echo(stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    out, _ = process.communicate(sent, timeout=30)
    assert out.translate(None, b"<>") == sent
