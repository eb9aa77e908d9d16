"""Files of a workspace that never end, never begin or are not files: nothing waits for them."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

import pytest

from portico.conductor.proxies.editor_state import read_editor_state
from portico.config.settings import load_settings
from portico.domain.errors import StoreFailed
from portico.files.deadline import within_deadline
from portico.files.regular import read_beginning, read_regular
from portico.git.repository import find_repository, need_repository
from portico.porter.model_loop.instructions import FILES, system_text
from portico.porter.profiles.profile import load_profile
from portico.porter.scenarios.catalog import load_scenarios
from portico.porter.workspace import Workspace
from portico.project.folder import ProjectFolder
from portico.prompts.catalog import PromptCatalog
from portico.prompts.directories import PromptDirectory
from tests.review.trees import repository
from tests.support.program import Portico
from tests.support.serving import Server

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")

HUGE_BYTES = 1 << 40


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # The path of a socket has to be short.
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def make_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def make_terminal(path: Path) -> None:
    path.symlink_to("/dev/tty")


def make_folder(path: Path) -> None:
    path.mkdir()


def make_loop(path: Path) -> None:
    path.symlink_to(path.name)


def make_huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(HUGE_BYTES)


KINDS = (make_pipe, make_socket, make_device, make_terminal, make_folder, make_loop, make_huge)
Make = Callable[[Path], None]


@pytest.fixture(params=KINDS, ids=lambda make: make.__name__.removeprefix("make_"))
def make(request: pytest.FixtureRequest) -> Make:
    made: Make = request.param
    return made


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / ".portico" / "prompts").mkdir(parents=True)
    (folder / ".portico" / "scenarios").mkdir()
    return folder


def test_settings_are_ignored_and_that_is_said(workspace: Path, tmp_path: Path, make: Make) -> None:
    make(workspace / ".portico" / "settings.json")
    (problem,) = load_settings(tmp_path / "config", workspace).problems
    assert problem.endswith("The settings of this folder are ignored.")


def test_a_prompt_is_listed_with_what_is_wrong(workspace: Path, make: Make) -> None:
    make(workspace / ".portico" / "prompts" / "evil.md")
    own = PromptDirectory(path=workspace / ".portico" / "prompts", origin="workspace", boundary=workspace)
    entries = PromptCatalog([own]).entries()
    assert [(one.prompt, bool(one.problem)) for one in entries] in ([(None, True)], [])


def test_a_scenario_is_a_problem(workspace: Path, make: Make) -> None:
    make(workspace / ".portico" / "scenarios" / "evil.yaml")
    (problem,) = load_scenarios(None, workspace, trusted=True).problems
    assert "evil.yaml" in problem.path


@pytest.mark.parametrize("name", FILES)
def test_instructions_say_nothing_or_their_beginning(workspace: Path, name: str, make: Make) -> None:
    make(workspace / name)
    scenario = load_scenarios(None, workspace, trusted=False).default
    told = system_text(scenario, Workspace(workspace), load_profile("large"))
    assert len(told) < 100_000
    assert str(date.today().year) in told  # noqa: DTZ011 - the person's own day


def test_a_project_file_says_nothing_or_its_beginning(workspace: Path, make: Make) -> None:
    make(workspace / "pyproject.toml")
    assert not ProjectFolder(workspace, os.environ).pyproject_has("project")


def test_the_state_of_an_editor_is_not_known(workspace: Path, make: Make) -> None:
    make(workspace / "editor.json")
    assert read_editor_state(workspace / "editor.json", 0.0) is None


@pytest.mark.parametrize("read", [read_regular, read_beginning])
def test_what_was_a_file_when_it_was_looked_at_is_looked_at_again(
    tmp_path: Path, read: Callable[..., bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipe takes the place of a file between the check and the opening."""
    path = tmp_path / "file"
    path.write_text("fine")
    facts = path.stat()
    path.unlink()
    os.mkfifo(path)
    monkeypatch.setattr(Path, "stat", lambda *_, **__: facts)
    with pytest.raises(OSError, match="not a regular file"):
        read(path, limit=10)


GIT_FILES = (
    "HEAD",
    "config",
    "commondir",
    "packed-refs",
    "info/exclude",
    "info/attributes",
    "objects/info/alternates",
)


@pytest.mark.parametrize("name", [".gitignore", ".gitattributes", *(f".git/{name}" for name in GIT_FILES)])
async def test_a_repository_with_such_a_file_is_refused_before_git_is_run(
    tmp_path: Path, name: str, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = repository(tmp_path / "work")
    (work / name).unlink(missing_ok=True)
    make(work / name)
    monkeypatch.setattr("portico.git.program.Git.ask", None)
    if make is make_huge and name == ".git/packed-refs":
        return  # It may be as large as it has to be.
    with pytest.raises(StoreFailed, match=r"cannot be read: .*\."):
        await need_repository(work, os.environ)


@pytest.mark.parametrize("make", [make_pipe, make_socket, make_device, make_terminal])
async def test_what_is_called_git_and_is_no_file_is_no_repository(tmp_path: Path, make: Make) -> None:
    make(tmp_path / ".git")
    assert await find_repository(tmp_path, os.environ) is None


async def test_git_that_waits_for_a_pipe_is_ended_at_its_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portico.git.repository._FINDING_SECONDS", 0.5)
    work = repository(tmp_path / "work")
    os.mkfifo(work / ".git" / "pipe")
    (work / ".git" / "config").write_text("[include]\n\tpath = pipe\n")
    with pytest.raises(StoreFailed, match="did not end within"):
        await need_repository(work, os.environ)


@pytest.fixture
def hanging() -> Iterator[threading.Event]:
    """Deadline for a drive that does not respond."""
    answer = threading.Event()
    yield answer
    answer.set()


async def test_a_drive_that_does_not_answer_stops_nothing_else(hanging: threading.Event) -> None:
    waiting = asyncio.create_task(within_deadline(hanging.wait, seconds=0.2))
    assert await within_deadline(lambda: 7) == 7
    with pytest.raises(StoreFailed, match="did not answer"):
        await waiting


async def test_an_error_of_the_work_is_raised_where_it_is_awaited() -> None:
    def fail() -> None:
        raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own"):
        await within_deadline(fail)


def test_a_process_ends_though_a_drive_does_not_answer() -> None:
    code = (
        "import asyncio, threading\n"
        "from portico.domain.errors import StoreFailed\n"
        "from portico.files.deadline import within_deadline\n"
        "async def main():\n"
        "    try:\n"
        "        await within_deadline(threading.Event().wait, seconds=0.05)\n"
        "    except StoreFailed:\n"
        "        print('told')\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run((sys.executable, "-c", code), capture_output=True, timeout=60, check=True)
    assert done.stdout == b"told\n"


@pytest.fixture
def server(portico: Portico) -> Iterator[Server]:
    found = Server(portico)
    yield found
    found.end()


def test_a_pipe_for_settings_hangs_neither_exec_nor_the_server_nor_its_end(
    portico: Portico, server: Server, tmp_path: Path
) -> None:
    evil = portico.workspace
    (evil / ".portico").mkdir()
    os.mkfifo(evil / ".portico" / "settings.json")
    ran = portico.run("exec", "/help")
    assert ran.code == 0, ran.err
    assert "not a regular file" in ran.err + ran.text
    portico.run("serve", "--detach", "--cwd", str(tmp_path))
    started = server.ask("StartSession", {"workspace": str(evil), "agent": "porter"})
    assert started["session"]
    found = server.ask("GetSettings", {"workspace": str(evil)})
    assert "not a regular file" in found["problems"][0]
    assert server.answers()
    process = server.process
    process.send_signal(signal.SIGTERM)
    process.wait(timeout=30)
