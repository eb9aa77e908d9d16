"""Agents that try to leave the workspace: files outside it, links, other folders."""

import sys
from pathlib import Path

import pytest

from portico.domain.events import ToolUpdated
from tests.support.program import Portico
from tests.support.stream import Json

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links and shells are POSIX")

MEGABYTE = 1_000_000
FLOOD = "yes | head -c {}"


@pytest.fixture
def outside(portico: Portico) -> Path:
    """A file beside the workspace, and every way that leads to it from inside."""
    path = portico.workspace.parent / "outside.txt"
    path.write_text("not yours")
    (portico.workspace / "link.txt").symlink_to(path)
    (portico.workspace / "chain.txt").symlink_to("link.txt")
    (portico.workspace / "folder").symlink_to(path.parent)
    (portico.workspace / "dangling.txt").symlink_to(path.with_name("new.txt"))
    return path


WAYS_OUT = [
    "../outside.txt",
    "sub/../../outside.txt",
    "link.txt",
    "chain.txt",
    "folder/outside.txt",
    "folder/new.txt",
    "dangling.txt",
    "/etc/passwd",
]


class TestFiles:
    def test_outside_the_workspace_or_behind_a_link_are_neither_read_nor_written(
        self, portico: Portico, outside: Path
    ) -> None:
        """Not even for an agent to which everything is allowed."""
        steps: list[Json] = []
        for path in [*WAYS_OUT, str(outside)]:
            steps += [{"read": {"path": path}}, {"write": {"path": path, "content": "taken over"}}]
        ran = portico.exec(steps, "--allow", "all")
        assert ran.code == 0
        assert ran.stream.answer.count("failed: -32602") == len(steps)
        assert ran.stream.answer.count("outside the workspace") == len(steps)
        assert "not yours" not in ran.text
        assert outside.read_text() == "not yours"
        assert not outside.with_name("new.txt").exists()

    def test_inside_are_read_and_written_and_those_behind_a_link_inside_as_well(
        self, portico: Portico
    ) -> None:
        (portico.workspace / "real.txt").write_text("mine")
        (portico.workspace / "link.txt").symlink_to("real.txt")
        steps = [{"read": {"path": "link.txt"}}, {"write": {"path": "link.txt", "content": "changed"}}]
        assert portico.exec(steps, "--allow", "all").stream.answer == "minewrote link.txt"
        assert (portico.workspace / "real.txt").read_text() == "changed"

    @pytest.mark.parametrize("cwd", ["..", "folder", "/"])
    def test_outside_are_no_place_for_a_command_either(
        self, portico: Portico, outside: Path, cwd: str
    ) -> None:
        ran = portico.exec([{"run": {"command": "touch", "args": ["made"], "cwd": cwd}}], "--allow", "all")
        assert "run failed: -32602" in ran.stream.answer
        assert not (outside.parent / "made").exists()


class TestOutput:
    async def test_without_end_is_kept_in_part_and_its_size_is_told(self, portico: Portico) -> None:
        size = 100 * MEGABYTE
        ran = portico.exec([{"run": {"command": "sh", "args": ["-c", FLOOD.format(size)]}}], "--allow", "all")
        assert ran.code == 0
        events = await portico.log(ran.stream.session_id)
        pieces = [one.payload.terminal for one in events if isinstance(one.payload, ToolUpdated)]
        shown = sum(len(piece.text) for piece in pieces if piece is not None)
        (left_out,) = [piece.left_out for piece in pieces if piece is not None and piece.ended]
        assert (shown, shown + left_out) == (MEGABYTE, size)
        assert len(ran.stream.answer) == len("exit 0: ") + 1024 * 1024

    @pytest.mark.parametrize(("wanted", "kept"), [(10**12, 8 * 1024 * 1024), (1000, 1000), (0, 0)])
    def test_is_kept_as_far_as_an_agent_wants_it_within_reason(
        self, portico: Portico, wanted: int, kept: int
    ) -> None:
        command = {"command": "sh", "args": ["-c", FLOOD.format(20 * MEGABYTE)], "output_byte_limit": wanted}
        answer = portico.exec([{"run": command}], "--allow", "all").stream.answer
        assert len(answer) == len("exit 0: ") + kept

    def test_of_a_command_that_never_ends_ends_with_the_command(self, portico: Portico) -> None:
        ran = portico.exec([{"run": {"command": "yes", "kill": True}}], "--allow", "all")
        assert ran.stream.answer.startswith("signal SIGTERM: ")
