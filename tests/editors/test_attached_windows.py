"""Attached windows: which one is asked, what ends a request, and what a wrong answer cannot do."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from portico.domain.errors import InvalidInput, WindowLost, WindowRefused
from portico.domain.events import EditorRequested
from portico.domain.windows import (
    ApplyEdits,
    BufferText,
    CodeLocation,
    CodeLookup,
    CodeLookupResult,
    ReadBuffer,
    TerminalCommand,
    TerminalCommandResult,
    WindowAbilities,
    WindowEdit,
    WindowEditResult,
    WindowFailure,
    WindowIntroduction,
    WindowResult,
)
from portico.editors.window import DISPATCH_SECONDS, EDIT_SECONDS, MOST_OPEN, READ_SECONDS, AttachedWindow
from portico.editors.window_registry import MOST_WINDOWS
from tests.editors.windows import SESSION, Desk


def only(desk: Desk, folder: Path) -> AttachedWindow:
    window = desk.windows.of(folder)
    assert window is not None
    return window


def reading(window: AttachedWindow, path: Path) -> "asyncio.Task[str | None]":
    return asyncio.create_task(window.read(SESSION, str(path)))


class TestWhichWindow:
    async def test_a_folder_has_the_window_that_is_open_on_it_above_it_or_below_it(
        self, tmp_path: Path
    ) -> None:
        desk = Desk()
        inside, beside = tmp_path / "app" / "src", tmp_path / "app-old"
        async with desk.window(tmp_path / "app"):
            for folder in (tmp_path / "app", inside, tmp_path):
                assert only(desk, folder).name == "VS Code"
            assert desk.windows.of(beside) is None
            assert desk.windows.problems.covers(inside)
            assert not desk.windows.problems.covers(beside)
        assert desk.windows.of(tmp_path / "app") is None
        assert not desk.windows.problems.covers(inside)
        async with desk.window(tmp_path / "app", abilities=WindowAbilities(buffers=True)):
            assert not desk.windows.problems.covers(inside), "it knows no problems"

    async def test_of_several_the_focused_one_is_asked_and_else_the_one_used_last(
        self, tmp_path: Path
    ) -> None:
        desk = Desk()
        async with (
            desk.window(tmp_path, name="first") as first,
            desk.window(tmp_path, name="second") as second,
        ):
            assert only(desk, tmp_path).name == "second"
            first.update_status(focused=True)
            async with desk.window(tmp_path, name="just opened"):
                assert only(desk, tmp_path).name == "first"
            first.update_status()
            assert only(desk, tmp_path).name == "first"
            second.update_status(focused=True)
            assert only(desk, tmp_path).name == "second"
            second.update_status(tmp_path / "a.txt", focused=True)
            assert only(desk, tmp_path).unsaved() == {str(tmp_path / "a.txt")}
        assert desk.windows.of(tmp_path) is None

    async def test_a_window_opened_by_way_of_a_link_is_asked_by_its_own_names(self, tmp_path: Path) -> None:
        desk = Desk()
        real, link = tmp_path / "real", tmp_path / "link"
        real.mkdir()
        link.symlink_to(real)
        async with desk.window(link) as played:
            played.update_status(link / "a.txt")
            window = only(desk, real)
            assert window.unsaved() == {str(real / "a.txt")}
            asked = reading(window, real / "a.txt")
            request = await played.request()
            assert request.question == ReadBuffer(path=str(link / "a.txt"))
            desk.windows.reply(request.request_id, BufferText(text="typed"))
            assert await asked == "typed"
            played.answers = lambda question: (
                CodeLookupResult(
                    places=(
                        CodeLocation(path=question.path, line=0, column=0, end_line=0, end_column=1),
                        CodeLocation(path="/elsewhere/b.txt", line=0, column=0, end_line=0, end_column=1),
                    )
                )
                if isinstance(question, CodeLookup)
                else WindowEditResult(applied=False, changed=(str(link / "a.txt"),))
            )
            found = await window.look_up(SESSION, CodeLookup(kind="definition", path=str(real / "a.txt")))
            assert [one.path for one in found.places] == [str(real / "a.txt"), "/elsewhere/b.txt"]
            edited = await window.edit(SESSION, "Try", [WindowEdit(path=str(real / "a.txt"), content="x")])
            assert edited.changed == (str(real / "a.txt"),)

    @pytest.mark.parametrize("folders", [(), ("relative/folder",), ("/work\0",)])
    async def test_a_window_without_a_proper_folder_is_refused(self, folders: tuple[str, ...]) -> None:
        desk = Desk()
        async with aclosing(desk.windows.attach(WindowIntroduction(name="x", folders=folders))) as updates:
            with pytest.raises(InvalidInput):
                await anext(updates)

    async def test_only_so_many_windows_are_attached_at_a_time(self, tmp_path: Path) -> None:
        desk = Desk()
        hello = WindowIntroduction(name="x", folders=(str(tmp_path),))
        streams = [desk.windows.attach(hello) for _ in range(MOST_WINDOWS)]
        for stream in streams:
            await anext(stream)
        async with aclosing(desk.windows.attach(hello)) as one_more:
            with pytest.raises(InvalidInput, match="attached already"):
                await anext(one_more)
        for stream in streams:
            await stream.aclose()
        async with desk.window(tmp_path):
            assert only(desk, tmp_path).name == "VS Code"


class TestRequests:
    async def test_what_is_asked_and_answered_stands_in_the_log_without_a_word_of_the_file(
        self, tmp_path: Path
    ) -> None:
        desk = Desk()
        path = str(tmp_path / "a.py")
        async with desk.window(tmp_path) as played:
            window = only(desk, tmp_path)
            answers: dict[object, WindowResult] = {
                ReadBuffer: BufferText(text="secret text"),
                ApplyEdits: WindowEditResult(applied=True),
                CodeLookup: CodeLookupResult(words="secret words"),
                TerminalCommand: TerminalCommandResult(sent=True, terminal="zsh"),
            }
            played.answers = lambda question: answers[type(question)]
            assert await window.read(SESSION, path) == "secret text"
            await window.edit(
                SESSION, "Fix the sum", [WindowEdit(path=path, expected="secret", content="secret")]
            )
            await window.look_up(SESSION, CodeLookup(kind="hover", path=path, line=1, column=2))
            sent = await window.dispatch(
                SESSION, TerminalCommand(command="gh auth login", cwd=str(tmp_path), title="gh")
            )
            assert sent.terminal == "zsh"
        assert desk.outcomes == [
            ("Read the unsaved text of a.py", True, None),
            ("Fix the sum", True, None),
            ("Show information about a name in a.py", True, None),
            ("Run in a terminal: gh auth login", True, None),
        ]
        assert "secret" not in repr(desk.told)
        asked = [one for one in desk.told if isinstance(one, EditorRequested)]
        assert [one.paths for one in asked] == [(path,), (path,), (path,), ()]
        assert {one.editor for one in asked} == {"VS Code"}

    async def test_what_was_not_done_says_why(self, tmp_path: Path) -> None:
        desk = Desk()
        async with desk.window(tmp_path) as played:
            window = only(desk, tmp_path)
            played.answers = lambda _: WindowFailure(message="The file is too large to be opened.")
            with pytest.raises(WindowRefused, match="too large"):
                await window.read(SESSION, str(tmp_path / "a.txt"))
            played.answers = lambda _: WindowFailure(message="")
            with pytest.raises(WindowRefused, match="could not"):
                await window.read(SESSION, str(tmp_path / "a.txt"))
            played.answers = lambda _: WindowEditResult(applied=False, changed=("/w/a.txt",))
            assert not (await window.edit(SESSION, "Try", [])).applied
            played.answers = lambda _: WindowEditResult(applied=False, not_saved=("/w/b.txt",))
            assert (await window.edit(SESSION, "Try", [])).not_saved == ("/w/b.txt",)
            played.answers = lambda _: TerminalCommandResult(sent=False, message="No shell.")
            assert not (await window.dispatch(SESSION, TerminalCommand(command="x", cwd="/", title="x"))).sent
        assert [(done, said) for _, done, said in desk.outcomes] == [
            (False, "The file is too large to be opened."),
            (False, "The VS Code window could not do it, and did not say why."),
            (False, "Changed meanwhile: a.txt."),
            (False, "Could not be saved: b.txt."),
            (False, "No shell."),
        ]

    @pytest.mark.parametrize(
        ("what", "seconds"), [("read", READ_SECONDS), ("edit", EDIT_SECONDS), ("dispatch", DISPATCH_SECONDS)]
    )
    async def test_a_silent_window_is_given_up_at_the_deadline_and_told_so(
        self, tmp_path: Path, what: str, seconds: float
    ) -> None:
        desk = Desk()
        async with desk.window(tmp_path) as played:
            window = only(desk, tmp_path)
            work: dict[str, Callable[[], Coroutine[Any, Any, object]]] = {
                "read": lambda: window.read(SESSION, "/a"),
                "edit": lambda: window.edit(SESSION, "Try", [WindowEdit(path="/a", content="x")]),
                "dispatch": lambda: window.dispatch(
                    SESSION, TerminalCommand(command="x", cwd="/", title="x")
                ),
            }
            asked = asyncio.create_task(work[what]())
            request = await played.request()
            await desk.clock.advance(seconds - 0.01)
            assert not asked.done()
            await desk.clock.advance(0.01)
            with pytest.raises(WindowLost, match="did not answer within"):
                await asked
            assert await played.cancelled() == request.request_id
            with pytest.raises(InvalidInput, match="is waiting for an answer"):
                desk.windows.reply(request.request_id, BufferText(text="late"))
        assert [done for _, done, _ in desk.outcomes] == [False]

    async def test_a_window_that_goes_ends_what_is_asked_of_it_at_once(self, tmp_path: Path) -> None:
        desk = Desk()
        async with desk.window(tmp_path) as played:
            window = only(desk, tmp_path)
            played.update_status(tmp_path / "a.txt")
            asked = reading(window, tmp_path / "a.txt")
            await played.request()
        with pytest.raises(WindowLost, match="was closed before it answered"):
            await asked
        with pytest.raises(WindowRefused, match="is closed"):
            await window.read(SESSION, "/a")
        assert window.unsaved() == frozenset()
        assert [done for _, done, _ in desk.outcomes] == [False]

    async def test_whoever_stops_waiting_takes_the_request_back(self, tmp_path: Path) -> None:
        desk = Desk()
        async with desk.window(tmp_path) as played:
            asked = reading(only(desk, tmp_path), tmp_path / "a.txt")
            request = await played.request()
            asked.cancel()
            await asyncio.wait((asked,))
            assert asked.cancelled()
            assert await played.cancelled() == request.request_id
        assert [(done, said) for _, done, said in desk.outcomes] == [(False, "The request was abandoned.")]

    async def test_a_window_that_does_not_read_gets_nothing_later_that_was_taken_back(
        self, tmp_path: Path
    ) -> None:
        desk = Desk()
        hello = WindowIntroduction(name="slow", folders=(str(tmp_path),))
        async with aclosing(desk.windows.attach(hello)) as updates:
            await anext(updates)
            window = only(desk, tmp_path)
            edit = WindowEdit(path=str(tmp_path / "a.txt"), content="x")
            asked = asyncio.create_task(window.edit(SESSION, "Try", [edit]))
            await desk.clock.until_sleeping()
            await desk.clock.advance(EDIT_SECONDS)
            # It was never sent, so it was certainly not done.
            with pytest.raises(WindowRefused, match="did not answer"):
                await asked
            again = reading(window, tmp_path / "b.txt")
            await desk.clock.until_sleeping()
            told = await anext(updates)
            assert getattr(told, "question", None) == ReadBuffer(path=str(tmp_path / "b.txt"))
            again.cancel()
            await asyncio.wait((again,))

    async def test_a_flood_is_refused_beyond_what_a_window_can_have_open(self, tmp_path: Path) -> None:
        desk = Desk()
        async with desk.window(tmp_path) as played:
            window = only(desk, tmp_path)
            many = [reading(window, tmp_path / f"{number}.txt") for number in range(MOST_OPEN * 3)]
            requests = [await played.request() for _ in range(MOST_OPEN)]
            done, open_still = await asyncio.wait(many, return_when=asyncio.ALL_COMPLETED, timeout=0)
            assert (len(done), len(open_still)) == (MOST_OPEN * 2, MOST_OPEN)
            for one in done:
                assert isinstance(one.exception(), WindowRefused)
            for request in reversed(requests):
                assert isinstance(request.question, ReadBuffer)
                desk.windows.reply(request.request_id, BufferText(text=request.question.path))
            assert await asyncio.gather(*open_still)
            last = reading(window, tmp_path / "after.txt")
            desk.windows.reply((await played.request()).request_id, BufferText(text="fine"))
            assert await last == "fine"


class TestWrongAnswers:
    async def test_an_answer_to_nothing_is_refused_and_harms_nobody(self, tmp_path: Path) -> None:
        desk = Desk()
        async with desk.window(tmp_path) as played:
            asked = reading(only(desk, tmp_path), tmp_path / "a.txt")
            request = await played.request()
            for name in ("", "made-up", request.request_id.swapcase(), played.id):
                with pytest.raises(InvalidInput, match="is waiting for an answer"):
                    desk.windows.reply(name, BufferText(text="forged"))
            desk.windows.reply(request.request_id, BufferText(text="right"))
            assert await asked == "right"

    async def test_an_answer_of_another_kind_is_refused_and_the_right_one_still_counts(
        self, tmp_path: Path
    ) -> None:
        desk = Desk()
        async with desk.window(tmp_path) as played:
            asked = reading(only(desk, tmp_path), tmp_path / "a.txt")
            request = await played.request()
            with pytest.raises(InvalidInput, match="another kind of answer"):
                desk.windows.reply(request.request_id, WindowEditResult(applied=True))
            desk.windows.reply(request.request_id, BufferText(text=None))
            with pytest.raises(InvalidInput, match="is waiting for an answer"):
                desk.windows.reply(request.request_id, BufferText(text="second"))
            assert await asked is None

    async def test_what_a_window_says_of_itself_needs_its_own_id(self, tmp_path: Path) -> None:
        desk = Desk()
        async with desk.window(tmp_path) as played:
            with pytest.raises(InvalidInput, match="not attached"):
                desk.windows.update_status("made-up", [str(tmp_path / "a.txt")], focused=True)
            assert only(desk, tmp_path).unsaved() == frozenset()
        with pytest.raises(InvalidInput, match="not attached"):
            played.update_status()

    async def test_no_two_requests_or_windows_have_ids_that_lead_to_each_other(self, tmp_path: Path) -> None:
        desk = Desk()
        async with desk.window(tmp_path) as played:
            window = only(desk, tmp_path)
            many = [reading(window, tmp_path / "a.txt") for _ in range(20)]
            ids = {(await played.request()).request_id for _ in many} | {played.id}
            assert len(ids) == 21
            assert min(map(len, ids)) >= 24
            for one in many:
                one.cancel()
            await asyncio.wait(many)
