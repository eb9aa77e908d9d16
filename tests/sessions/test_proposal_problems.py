"""Problems of a proposal beside an attached window: one list of problems from both."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec

from portico.acp import _schema as acp
from portico.domain.events import ProposalUpdated
from portico.domain.ids import SessionId
from portico.domain.problems import Problem
from portico.domain.reviews import ProposedFile
from portico.domain.session_summary import SessionSummary
from portico.editors.local import LocalEditorProvider
from portico.editors.problem_reports import WindowProblems
from portico.sessions.code_servers import CodeServers
from portico.sessions.proposal_problems import compare_problems
from portico.sessions.review_actions import ReviewActions
from tests.editors.language_servers.support import scripted, workspace
from tests.sessions.support import FakeAgent, world


async def say_nothing(_agent: FakeAgent, _request: acp.PromptRequest) -> None:
    return None


class Reviews:
    """One proposal, in a working copy."""

    def __init__(self, folder: Path, *files: ProposedFile) -> None:
        self._folder = folder
        self._files = files

    async def proposal(self, _session: SessionId, name: str) -> ProposalUpdated:
        return ProposalUpdated(proposal_id=name, revision=1, status="open", origin="turn", files=self._files)

    async def status(self, _session: SessionId) -> Any:
        return SimpleNamespace(folder=str(self._folder))


async def test_what_the_window_shows_is_not_new_and_what_is_solved_is_told_in_its_words(
    tmp_path: Path, own_home: Path
) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    async with (
        workspace(tmp_path / "w", own_home, **scripted()) as here,
        world(say_nothing, here.folder, editors=LocalEditorProvider({})) as made,
    ):
        here.write("a.txt", "BAD_solved\n")
        (copy / "a.txt").write_text("BAD_shown\nBAD_new\n")
        window = WindowProblems()
        shown = [
            Problem(line=9, severity="error", message=f"{name} is bad", source="VS Code")
            for name in ("BAD_solved", "BAD_shown")
        ]
        window.update("window", str(here.folder / "a.txt"), shown)

        async def servers(_: Path) -> CodeServers:
            return here.servers

        ports = msgspec.structs.replace(made.ports, code_servers=servers, problems=window)
        session = SessionSummary(session_id=SessionId("s1"), workspace=str(here.folder), agent="fake")
        reviews = cast(ReviewActions, Reviews(copy, ProposedFile(path="a.txt", operation="update")))
        (file,) = (await compare_problems(session, "p1", reviews, ports)).files
        assert [one.message for one in file.added] == ["BAD_new is bad"]
        assert [(one.line, one.source) for one in file.removed] == [(9, "VS Code")]
        without = msgspec.structs.replace(ports, problems=WindowProblems(lambda _: False))
        (file,) = (await compare_problems(session, "p1", reviews, without)).files
        assert [one.message for one in file.added] == ["BAD_shown is bad", "BAD_new is bad"]
        assert [one.source for one in file.removed] == ["scripted"]
