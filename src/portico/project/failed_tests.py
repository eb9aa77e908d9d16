"""Failed tests in the output of common test runners: name, place and message, as far as the output has them."""

import re
from collections.abc import Iterable, Iterator

import msgspec

_PYTEST = re.compile(r"^(?:FAILED|ERROR) (\S+::\S+|\S+\.py)(?: - (.*))?$", re.MULTILINE)
_PYTEST_BLOCK = re.compile(r"^_{3,} (?:ERROR at \w+ of )?(\S+) _{3,}$", re.MULTILINE)
_PYTEST_PLACE = re.compile(r"^([^\s:]+\.py):(\d+): ", re.MULTILINE)
_UNITTEST = re.compile(r"^(?:FAIL|ERROR): (\S+ \(.*\))", re.MULTILINE)
_UNITTEST_PLACE = re.compile(r'^  File "([^"\n]+)", line (\d+)', re.MULTILINE)
_RULER = re.compile(r"^(?:={70}|-{70})$", re.MULTILINE)
_CARGO = re.compile(r"^test (\S+) \.\.\. FAILED", re.MULTILINE)
_CARGO_PLACE = re.compile(
    r"^thread '([^'\n]+)'.* panicked at ([^\n:]+):(\d+):\d+:\n((?:(?!stack backtrace|note:).+\n?)*)",
    re.MULTILINE,
)
_GO = re.compile(r"^\s*--- FAIL: (\S+)", re.MULTILINE)
_GO_PLACE = re.compile(r"^\s+(\S+\.go):(\d+): (.*)", re.MULTILINE)
_CROSSED = re.compile(r"^\s*(?:✖|✕|×) (.+?)(?: \([\d.]+ ?ms\))?$", re.MULTILINE)
_LONGEST_MESSAGE = 500


class FailedTest(msgspec.Struct, frozen=True):
    """`path` and `line` are where it failed; `message` is on one line."""

    name: str
    path: str = ""
    line: int | None = None
    message: str = ""


def read_failed_tests(output: str) -> tuple[FailedTest, ...]:
    readers = (_pytest, _unittest, _cargo, _go, _crossed)
    return _unique(test for reader in readers for test in reader(output))


def join_message(text: str) -> str:
    """A message on one line of bounded length."""
    joined = " ".join(text.split())
    return joined if len(joined) <= _LONGEST_MESSAGE else f"{joined[: _LONGEST_MESSAGE - 1]}…"


def _unique(tests: Iterable[FailedTest]) -> tuple[FailedTest, ...]:
    found: dict[str, FailedTest] = {}
    for test in tests:
        found.setdefault(test.name, test)
    return tuple(found.values())


def _pytest(output: str) -> Iterator[FailedTest]:
    matches = list(_PYTEST.finditer(output))
    if not matches:
        return
    parts = _PYTEST_BLOCK.split(output)
    places = {name: pytest_place(text) for name, text in zip(parts[1::2], parts[2::2], strict=True)}
    for match in matches:
        name = match[1]
        path, line = places.get(name.partition("::")[2].replace("::", "."), ("", None))
        yield FailedTest(name, path, line, join_message(match[2] or ""))


def pytest_place(text: str) -> tuple[str, int | None]:
    """The last place that a traceback of pytest names."""
    places = _PYTEST_PLACE.findall(text)
    return (places[-1][0], int(places[-1][1])) if places else ("", None)


def _unittest(output: str) -> Iterator[FailedTest]:
    for match in _UNITTEST.finditer(output):
        # The traceback stands between two rulers after the name.
        _, _, rest = output[match.end() :].partition("-" * 70)
        ruler = _RULER.search(rest)
        text = rest[: ruler.start()] if ruler else rest
        places = _UNITTEST_PLACE.findall(text)
        path, line = (places[-1][0], int(places[-1][1])) if places else ("", None)
        last = next((words for words in reversed(text.split("\n")) if words.strip()), "")
        yield FailedTest(match[1], path, line, join_message(last))


def _cargo(output: str) -> Iterator[FailedTest]:
    panics = {match[1]: match for match in _CARGO_PLACE.finditer(output)}
    for name in _CARGO.findall(output):
        panic = panics.get(name)
        if panic is None:
            yield FailedTest(name)
        else:
            yield FailedTest(name, panic[2], int(panic[3]), join_message(panic[4]))


def _go(output: str) -> Iterator[FailedTest]:
    parts = _GO.split(output)
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        yield go_failure(name, text)


def go_failure(name: str, text: str, folder: str = "") -> FailedTest:
    """A failed test of Go from what it printed. `folder` is that of its package."""
    place = _GO_PLACE.search(text)
    if place is None:
        return FailedTest(name)
    return FailedTest(name, f"{folder}{place[1]}", int(place[2]), join_message(place[3]))


def _crossed(output: str) -> Iterator[FailedTest]:
    for name in _CROSSED.findall(output):
        yield FailedTest(name.strip())
