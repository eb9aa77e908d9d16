"""Two people's changes to one file: both are kept, or the place where that cannot be is shown."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from portico.review.text.change_set import Conflict
from portico.review.text.merge import ThreeWayMerge, merge

TEXT = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\r\n", b"d"]), max_size=12).map(b"".join)


@st.composite
def versions(draw: st.DrawFn) -> tuple[bytes, bytes, bytes]:
    """A base of lines that all differ, and two versions with edits of their own, some of them the same."""
    base = [b"line %d\n" % number for number in range(draw(st.integers(0, 14)))]

    def version() -> bytes:
        lines = list(base)
        for at in sorted(draw(st.sets(st.integers(0, len(base)), max_size=4)), reverse=True):
            fresh = [
                b"new %d\n" % number for number in draw(st.sets(st.integers(at * 3, at * 3 + 2), max_size=2))
            ]
            lines[at : at + draw(st.integers(0, 2))] = fresh
        return b"".join(lines).removesuffix(b"\n") if draw(st.booleans()) else b"".join(lines)

    return b"".join(base), version(), version()


@settings(max_examples=150)
@given(files=versions())
def test_what_git_merges_is_merged_alike_and_what_it_does_not_is_a_conflict(
    tmp_path_factory: pytest.TempPathFactory, files: tuple[bytes, bytes, bytes]
) -> None:
    folder = tmp_path_factory.mktemp("merge")
    for name, content in zip(("base", "person", "agent"), files, strict=True):
        (folder / name).write_bytes(content)

    def git(*options: str) -> tuple[int, bytes]:
        command = ["git", "merge-file", "-p", "-q", *options, "person", "base", "agent"]
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
        return done.returncode, done.stdout

    status, text = git()
    result = merge(*files)
    assert (status == 0) == (result.merged is not None)
    if status == 0:
        assert result.merged == text
        return
    assert _resolved(result, person=True) == git("--ours")[1]
    assert _resolved(result, person=False) == git("--theirs")[1]


def _resolved(result: ThreeWayMerge, *, person: bool) -> bytes:
    parts: list[bytes] = []
    for region in result.regions:
        if isinstance(region, Conflict):
            parts.append((region.person if person else region.agent) or b"")
        else:
            parts.append(region)
    return b"".join(parts)


@given(TEXT, TEXT)
def test_a_side_that_changed_nothing_does_not_matter_and_nor_does_doing_the_same(
    base: bytes, new: bytes
) -> None:
    assert merge(base, base, new).merged == new
    assert merge(base, new, base).merged == new
    assert merge(base, new, new).merged == new


@given(TEXT, TEXT, TEXT)
def test_a_merge_knows_both_sides_whatever_it_makes_of_them(base: bytes, person: bytes, agent: bytes) -> None:
    one, other = merge(base, person, agent), merge(base, agent, person)
    assert one.merged == other.merged
    assert _resolved(one, person=True) == _resolved(other, person=False)


def test_neighbouring_lines_changed_by_two_are_a_conflict_with_its_place_and_both_sides() -> None:
    result = merge(b"1\n2\n3\n4\n", b"1\ntwo\n3\n4\n", b"1\n2\nthree\n4\n")
    assert result.conflicts == (Conflict(b"2\n3\n", b"two\n3\n", b"2\nthree\n", 2),)


def test_binary_files_that_both_changed_are_a_conflict_as_a_whole() -> None:
    result = merge(b"\0a", b"\0b", b"\0c")
    assert result.conflicts == (Conflict(b"\0a", b"\0b", b"\0c"),)
