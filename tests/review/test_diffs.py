"""Differences as a person reviews them: nothing lost, any part of them can be chosen, and git reads them."""

import random
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from portico.domain.errors import InvalidInput
from portico.review.text.change_set import ChangeOperation, FileChange, FileContent, apply_hunks
from portico.review.text.diffs import SegmentKind, diff
from portico.review.text.lines import (
    Encoding,
    common_breaks,
    encode_like,
    encoding_of,
    read_text,
    split_lines,
)
from portico.review.text.patch import unified_patch

ENDS = (b"\n", b"\r\n", b"\r", b"")
LINE = st.tuples(st.sampled_from([b"a", b"b", b"c", b"{", b"", b"\xff", "ü".encode()]), st.sampled_from(ENDS))
TEXT = st.lists(LINE, max_size=40).map(lambda lines: b"".join(a + b for a, b in lines))
WIDE = st.text("ab\n\r\u0a00\u000a", max_size=30).map(lambda text: b"\xff\xfe" + text.encode("utf-16-le"))
CONTENT = st.one_of(TEXT, WIDE, st.binary(max_size=60))


@st.composite
def edited(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """A long file and a version of it with some edits, far enough apart for several hunks."""
    lines = [b"line %d\n" % (number % draw(st.sampled_from([7, 1000]))) for number in range(60)]
    new = list(lines)
    for at in sorted(draw(st.sets(st.integers(0, 59), max_size=6)), reverse=True):
        new[at : at + draw(st.integers(0, 2))] = draw(
            st.lists(st.sampled_from([b"x\n", b"line 3\n"]), max_size=2)
        )
    return b"".join(lines), b"".join(new)


@given(CONTENT, CONTENT)
def test_all_hunks_make_the_new_content_byte_for_byte_and_none_keep_the_old(old: bytes, new: bytes) -> None:
    found = diff(old, new)
    if found.breaks is None:
        assert common_breaks(old, new) is None
        return
    assert apply_hunks(old, found.hunks, [hunk.hunk_id for hunk in found.hunks]) == new
    assert apply_hunks(old, found.hunks, []) == old
    added = sum(one.lines for hunk in found.hunks for one in hunk.segments if one.kind is SegmentKind.ADDED)
    assert added == found.added


@given(edited(), st.data())
def test_any_choice_of_hunks_is_the_choice_of_those_edits_alone(
    pair: tuple[bytes, bytes], data: st.DataObject
) -> None:
    old, new = pair
    hunks = diff(old, new).hunks
    names = [hunk.hunk_id for hunk in hunks]
    assert len(set(names)) == len(names)
    chosen = {name for name in names if data.draw(st.booleans())}
    one_by_one = old
    for hunk in reversed(hunks):  # From the end, where no place has moved yet.
        if hunk.hunk_id in chosen:
            one_by_one = apply_hunks(one_by_one, [hunk], [hunk.hunk_id])
    assert apply_hunks(old, hunks, chosen) == one_by_one


@given(CONTENT)
def test_the_lines_of_a_file_joined_are_the_file(content: bytes) -> None:
    breaks = common_breaks(content)
    if breaks is not None:
        assert b"".join(split_lines(content, breaks)) == content


def test_a_hunk_that_does_not_fit_any_more_is_refused_and_so_is_one_that_is_not_there() -> None:
    hunks = diff(b"one\ntwo\n", b"one\n2\n").hunks
    with pytest.raises(InvalidInput, match="does not fit"):
        apply_hunks(b"other\ntwo\n", hunks, [hunks[0].hunk_id])
    with pytest.raises(InvalidInput, match="no hunk"):
        apply_hunks(b"one\ntwo\n", hunks, ["nothing"])


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (b"plain\n", Encoding.UTF_8),
        (b"\xef\xbb\xbfmarked\r\n", Encoding.UTF_8_MARKED),
        ("breit\r\n".encode("utf-16"), Encoding.UTF_16_LITTLE),
        (b"\xfe\xff" + "breit\n".encode("utf-16-be"), Encoding.UTF_16_BIG),
        ("süß\n".encode("latin-1"), Encoding.LATIN_1),
        (b"\x7fELF\0\0", None),
    ],
)
def test_text_goes_back_into_the_form_its_file_had(data: bytes, encoding: Encoding | None) -> None:
    assert encoding_of(data) is encoding
    text = read_text(data)
    if text is None:
        assert encoding is None
        return
    assert encode_like(data, text.content) == data
    assert encode_like(data, text.content.replace("\r\n", "\n")) == data


def test_a_character_that_latin_1_lacks_is_not_lost() -> None:
    assert encode_like("süß\n".encode("latin-1"), "süß €\n") == "süß €\n".encode()


def test_a_file_with_carriage_returns_only_is_still_reviewed_by_line() -> None:
    found = diff(b"one\rtwo\rthree\r", b"one\r2\rthree\r")
    assert (found.added, found.removed) == (1, 1)


@settings(max_examples=60)
@given(pair=st.one_of(edited(), st.tuples(TEXT, TEXT)))
def test_git_applies_the_patch_to_the_same_content(
    tmp_path_factory: pytest.TempPathFactory, pair: tuple[bytes, bytes]
) -> None:
    old, new = pair
    patch = unified_patch(
        FileChange(
            path="a b.txt", operation=ChangeOperation.UPDATE, old=FileContent.of(old), new=FileContent.of(new)
        )
    )
    folder = tmp_path_factory.mktemp("patch")
    (folder / "a b.txt").write_bytes(old)
    if old != new:
        subprocess.run(["git", "apply", "-"], input=patch, cwd=folder, check=True, capture_output=True)
    assert (folder / "a b.txt").read_bytes() == new


LONG = b"".join(b"def f%d():\n    pass\n\n\n\n" % number for number in range(20))


@pytest.mark.parametrize(
    ("old", "new", "old_mode", "new_mode"),
    [
        (LONG, LONG.replace(b"f7()", b"g7()").replace(b"f15()", b"h()"), 0o644, 0o644),
        (b"a\nb", b"a\nb\n", 0o644, 0o644),
        (b"a\nb\n", b"a\nc", 0o644, 0o755),
        (b"a\n", b"a\n", 0o644, 0o755),
        (None, b"new\n", None, 0o755),
        (None, b"", None, 0o644),
        (b"gone", None, 0o644, None),
        (b"\0one", b"\0two", 0o644, 0o644),
        (None, b"\0two", None, 0o644),
        (b"", b"x\n", 0o644, 0o644),
    ],
)
@pytest.mark.parametrize("name", ["file.py", "a name.txt", "süß\t.txt"])
def test_a_patch_reads_exactly_as_git_writes_it(
    tmp_path: Path,
    name: str,
    old: bytes | None,
    new: bytes | None,
    old_mode: int | None,
    new_mode: int | None,
) -> None:
    def git(*arguments: str) -> bytes:
        return subprocess.run(["git", *arguments], cwd=tmp_path, check=True, capture_output=True).stdout

    git("init", "-q")
    for is_new, content, mode in ((False, old, old_mode), (True, new, new_mode)):
        (tmp_path / name).unlink(missing_ok=True)
        if content is not None and mode is not None:
            (tmp_path / name).write_bytes(content)
            (tmp_path / name).chmod(mode)
        if not is_new:
            git("add", "-A")
            git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "old", "--allow-empty")
    git("add", "-A")
    operation = (
        ChangeOperation.CREATE
        if old is None
        else ChangeOperation.DELETE
        if new is None
        else ChangeOperation.UPDATE
    )
    change = FileChange(
        path=name,
        operation=operation,
        old=None if old is None else FileContent.of(old),
        new=None if new is None else FileContent.of(new),
        old_mode=old_mode,
        new_mode=new_mode,
    )
    assert unified_patch(change) == git("diff", "--cached", "--no-ext-diff", "--abbrev=7")


def test_a_hostile_file_of_few_different_lines_is_compared_without_a_long_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("portico.review.text.common_lines.EFFORT", 2_000)
    chance = random.Random(5)
    old, new = (b"".join(chance.choices([b"a\n", b"b\n", b"c\n"], k=3_000)) for _ in range(2))
    found = diff(old, new)
    assert apply_hunks(old, found.hunks, [hunk.hunk_id for hunk in found.hunks]) == new
    assert found.added < 2_000


def test_a_rename_is_written_as_one() -> None:
    content = FileContent.of(b"same\n")
    change = FileChange(path="b", old_path="a", operation=ChangeOperation.RENAME, old=content, new=content)
    assert unified_patch(change) == (
        b"diff --git a/a b/b\nsimilarity index 100%\nrename from a\nrename to b\n"
    )
