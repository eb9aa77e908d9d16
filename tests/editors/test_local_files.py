"""Files as an agent may see and change them, on a real disk."""

import asyncio
import contextlib
import os
import resource
import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from portico.domain.errors import FileMissing, InvalidInput, PermissionDenied
from portico.editors import files as files_module
from portico.editors.files import LocalFiles
from portico.sessions.ports import EditorFiles

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links, pipes and modes are POSIX")

NOBODY = 65534


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def files(workspace: Path) -> EditorFiles:
    return LocalFiles(workspace)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    path = tmp_path / "outside.txt"
    path.write_text("not yours")
    return path


async def test_text_is_read_byte_for_byte(files: EditorFiles, workspace: Path) -> None:
    (workspace / "a.txt").write_bytes("\ufeffeins\r\nzwei\rdrei\u2028\nü".encode())
    assert await files.read_text("a.txt") == "\ufeffeins\r\nzwei\rdrei\u2028\nü"


@pytest.mark.parametrize(
    ("line", "limit", "expected"),
    [
        (None, None, "one\ntwo\x0b\r\nthree\n"),
        (1, None, "one\ntwo\x0b\r\nthree\n"),
        (2, None, "two\x0b\r\nthree\n"),
        (2, 1, "two\x0b\r\n"),
        (None, 1, "one\n"),
        (3, 10, "three\n"),
        (0, 1, "one\n"),
        (4, None, ""),
        (9, 2, ""),
        (1, 0, ""),
    ],
)
async def test_a_part_is_read_by_lines(
    files: EditorFiles, workspace: Path, line: int | None, limit: int | None, expected: str
) -> None:
    (workspace / "a.txt").write_bytes(b"one\ntwo\x0b\r\nthree\n")
    assert await files.read_text("a.txt", line=line, limit=limit) == expected


async def test_a_last_line_without_an_end_gets_none(files: EditorFiles, workspace: Path) -> None:
    (workspace / "a.txt").write_text("one\ntwo")
    assert await files.read_text("a.txt", line=2, limit=1) == "two"


async def test_absolute_and_relative_paths_name_the_same_file(files: EditorFiles, workspace: Path) -> None:
    (workspace / "sub").mkdir()
    (workspace / "sub" / "a.txt").write_text("x")
    assert await files.read_text(str(workspace / "sub" / "a.txt")) == "x"
    assert await files.read_text("sub/../sub/a.txt") == "x"


async def test_a_workspace_reached_by_a_link_is_the_same_workspace(workspace: Path, tmp_path: Path) -> None:
    (workspace / "a.txt").write_text("x")
    link = tmp_path / "link"
    link.symlink_to(workspace)
    assert await LocalFiles(link).read_text(str(link / "a.txt")) == "x"
    assert await LocalFiles(link).read_text(str(workspace / "a.txt")) == "x"


def names(folder: Path) -> list[str]:
    return [entry.name for entry in folder.iterdir()]


def text_of(path: Path) -> str:
    return path.read_text()


def set_mode(path: Path, mode: int) -> None:
    path.chmod(mode)


def ways_out(workspace: Path, outside: Path) -> list[str]:
    (workspace / "link.txt").symlink_to(outside)
    (workspace / "folder").symlink_to(outside.parent)
    (workspace / "chain.txt").symlink_to("link.txt")
    (workspace / "dangling.txt").symlink_to(outside.with_name("new.txt"))
    return [
        str(outside),
        "../outside.txt",
        "sub/../../outside.txt",
        "link.txt",
        "chain.txt",
        "folder/outside.txt",
        "folder/new.txt",
        "dangling.txt",
        f"{workspace}-other/file.txt",
        "/etc/passwd",
    ]


async def test_no_way_leads_out_of_the_workspace(files: EditorFiles, workspace: Path, outside: Path) -> None:
    for path in ways_out(workspace, outside):
        with pytest.raises(PermissionDenied, match="outside the workspace"):
            await files.read_text(path)
        with pytest.raises(PermissionDenied, match="outside the workspace"):
            await files.write_text(path, "taken over")
    assert text_of(outside) == "not yours"
    assert "new.txt" not in names(outside.parent)


@pytest.mark.parametrize(
    "path",
    [
        ".env",
        ".ENV",
        "app/.env",
        ".env.production",
        ".env.example.local",
        "server.pem",
        "Server.KEY",
        "id_rsa",
        "id_ed25519.old",
        "keys/id_ecdsa",
        ".ssh/config",
        "home/.SSH/known_hosts",
        "bundle.p12",
        ".env.",
        ".e\u200bnv",
    ],
)
async def test_secrets_are_neither_read_nor_written(files: EditorFiles, workspace: Path, path: str) -> None:
    place = workspace / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("secret")
    with pytest.raises(PermissionDenied, match="agents must not read it"):
        await files.read_text(path)
    with pytest.raises(PermissionDenied, match="agents must not write it"):
        await files.write_text(path, "mine")
    assert place.read_text() == "secret"


@pytest.mark.parametrize(
    "path", [".env.example", ".env.sample", ".ENV.template", "environment.ts", ".env/bin/activate"]
)
async def test_what_only_looks_like_a_secret_can_be_used(files: EditorFiles, path: str) -> None:
    await files.write_text(path, "x")
    assert await files.read_text(path) == "x"


@pytest.mark.parametrize(
    "path", [".git/config", ".GIT/hooks/pre-commit", "sub/.git/HEAD", "a/../.git/x", ".git"]
)
async def test_gits_own_files_can_be_read_but_not_written(
    files: EditorFiles, workspace: Path, path: str
) -> None:
    place = workspace / path
    (workspace / "a").mkdir()
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("git")
    assert await files.read_text(path) == "git"
    with pytest.raises(PermissionDenied, match="belongs to git"):
        await files.write_text(path, "mine")
    assert place.read_text() == "git"


async def test_a_link_gives_no_other_name_to_a_secret(files: EditorFiles, workspace: Path) -> None:
    (workspace / ".env").write_text("secret")
    (workspace / "settings.txt").symlink_to(".env")
    (workspace / "database").mkdir()
    (workspace / ".git").symlink_to("database")
    with pytest.raises(PermissionDenied):
        await files.read_text("settings.txt")
    with pytest.raises(PermissionDenied):
        await files.write_text(".git/config", "mine")


async def test_a_missing_file_is_said_to_be_missing(files: EditorFiles) -> None:
    with pytest.raises(FileMissing, match=r"gone\.txt does not exist"):
        await files.read_text("gone.txt")


async def test_a_folder_is_not_a_file(files: EditorFiles, workspace: Path) -> None:
    (workspace / "sub").mkdir()
    with pytest.raises(InvalidInput, match="sub is a folder"):
        await files.read_text("sub")
    with pytest.raises(InvalidInput, match="sub is a folder"):
        await files.write_text("sub", "x")
    with pytest.raises(InvalidInput, match="is a folder"):
        await files.read_text(".")


async def test_a_named_pipe_or_a_socket_never_keeps_anybody_waiting(
    files: EditorFiles, workspace: Path
) -> None:
    os.mkfifo(workspace / "pipe")
    with socket.socket(socket.AF_UNIX) as listener, contextlib.chdir(workspace):
        listener.bind("socket")
    async with asyncio.timeout(10):
        for path in ("pipe", "socket"):
            with pytest.raises(InvalidInput, match="not a regular file"):
                await files.read_text(path)
            with pytest.raises(InvalidInput, match="not a regular file"):
                await files.write_text(path, "x")


@pytest.mark.parametrize("data", [b"\xff\xfe", b"abc\xc3", b"\x89PNG\r\n\x1a\n\x00"])
async def test_what_is_not_text_is_not_read(files: EditorFiles, workspace: Path, data: bytes) -> None:
    (workspace / "a.bin").write_bytes(data)
    with pytest.raises(InvalidInput, match="not UTF-8 text"):
        await files.read_text("a.bin")


async def test_a_huge_file_is_refused_without_reading_it(files: EditorFiles, workspace: Path) -> None:
    with (workspace / "huge.txt").open("wb") as file:
        file.truncate(files_module.READ_LIMIT_BYTES + 1)
    with pytest.raises(InvalidInput, match="larger than 50 MB"):
        await files.read_text("huge.txt")


@pytest.mark.parametrize("path", ["", "a\0b", "x" * 300])
async def test_a_path_that_names_nothing_is_refused(files: EditorFiles, path: str) -> None:
    with pytest.raises(InvalidInput):
        await files.read_text(path)
    with pytest.raises(InvalidInput):
        await files.write_text(path, "x")


async def test_a_loop_of_links_is_refused(files: EditorFiles, workspace: Path) -> None:
    (workspace / "a").symlink_to("b")
    (workspace / "b").symlink_to("a")
    with pytest.raises(InvalidInput):
        await files.read_text("a")
    with pytest.raises(InvalidInput):
        await files.write_text("a", "x")


async def test_text_is_written_byte_for_byte_and_folders_are_made(
    files: EditorFiles, workspace: Path
) -> None:
    await files.write_text("new/deep/a.txt", "\ufeffü\r\nx\n")
    assert (workspace / "new/deep/a.txt").read_bytes() == "\ufeffü\r\nx\n".encode()
    assert names(workspace / "new/deep") == ["a.txt"]


async def test_a_new_file_has_the_mode_that_the_umask_gives(files: EditorFiles, workspace: Path) -> None:
    mask = os.umask(0o027)
    try:
        await files.write_text("a.txt", "x")
    finally:
        os.umask(mask)
    assert (workspace / "a.txt").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("mode", [0o600, 0o755, 0o664])
async def test_a_rewritten_file_keeps_its_mode(files: EditorFiles, workspace: Path, mode: int) -> None:
    path = workspace / "run.sh"
    path.write_text("old")
    path.chmod(mode)
    await files.write_text("run.sh", "new")
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == mode


async def test_a_link_inside_the_workspace_stays_a_link(files: EditorFiles, workspace: Path) -> None:
    (workspace / "target.txt").write_text("old")
    (workspace / "link.txt").symlink_to("target.txt")
    await files.write_text("link.txt", "new")
    assert (workspace / "link.txt").is_symlink()
    assert (workspace / "target.txt").read_text() == "new"


async def test_a_file_in_the_way_of_a_folder_is_explained(files: EditorFiles, workspace: Path) -> None:
    (workspace / "a.txt").write_text("x")
    with pytest.raises(InvalidInput, match="a part of its path is a file"):
        await files.write_text("a.txt/b.txt", "x")


async def test_text_that_has_no_utf8_form_is_refused(files: EditorFiles, workspace: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be written as UTF-8"):
        await files.write_text("a.txt", "\ud800")
    assert names(workspace) == []


@contextlib.contextmanager
def room_for(size: int) -> Iterator[None]:
    """Writing more than `size` bytes to a file fails, as it does on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def test_a_disk_without_room_leaves_the_file_as_it_was(files: EditorFiles, workspace: Path) -> None:
    (workspace / "a.txt").write_text("original")
    with room_for(64 * 1024), pytest.raises(InvalidInput, match="cannot be written"):
        await files.write_text("a.txt", "x" * 1024 * 1024)
    assert (workspace / "a.txt").read_text() == "original"
    assert names(workspace) == ["a.txt"]


@contextlib.contextmanager
def as_an_ordinary_user() -> Iterator[None]:
    """The superuser may write anywhere, so step down for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that an ordinary user can reach, unlike those below a superuser's own."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


async def test_a_read_only_folder_leaves_the_file_as_it_was(open_folder: Path) -> None:
    path = open_folder / "a.txt"
    path.write_text("original")
    path.chmod(0o666)
    set_mode(open_folder, 0o555)
    with as_an_ordinary_user(), pytest.raises(PermissionDenied, match="the system refused it"):
        await LocalFiles(open_folder).write_text("a.txt", "new")
    set_mode(open_folder, 0o755)
    assert path.read_text() == "original"
    assert names(open_folder) == ["a.txt"]


async def test_a_read_only_file_is_respected(open_folder: Path) -> None:
    path = open_folder / "a.txt"
    path.write_text("original")
    path.chmod(0o444)
    set_mode(open_folder, 0o777)
    with as_an_ordinary_user(), pytest.raises(PermissionDenied, match="is read-only"):
        await LocalFiles(open_folder).write_text("a.txt", "new")
    assert path.read_text() == "original"


async def test_a_file_that_the_system_hides_is_denied(open_folder: Path) -> None:
    path = open_folder / "a.txt"
    path.write_text("original")
    path.chmod(0o000)
    with as_an_ordinary_user(), pytest.raises(PermissionDenied, match="cannot be read"):
        await LocalFiles(open_folder).read_text("a.txt")
