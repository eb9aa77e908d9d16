"""Writes one text file: the difference shown, permission asked, and concurrent changes refused."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from portico.acp import _schema as schema
from portico.porter.tool_call import ToolCallDetails, ToolCallReport
from portico.porter.turn import PorterTurn


class FileWrite(msgspec.Struct, frozen=True):
    """New content for a file; `before` is None if the file does not exist yet."""

    path: Path
    before: str | None
    after: str

    async def run(
        self, turn: PorterTurn, permit: Callable[[ToolCallReport], Awaitable[None]], *, stale: Exception
    ) -> None:
        """Write the file once `permit` returns. Raises `stale` if the file changed meanwhile."""
        async with turn.tool(self._details(turn.workspace.shown(self.path))) as call:
            await permit(call)
            if await turn.files.read_if_exists(self.path) != self.before:
                raise stale
            await turn.files.write(self.path, self.after)

    def _details(self, shown: str) -> ToolCallDetails:
        path = str(self.path)
        return ToolCallDetails(
            title=f"{'Create' if self.before is None else 'Change'} {shown}",
            kind="edit",
            locations=(schema.ToolCallLocation(path=path, line=self._first_changed_line()),),
            content=(schema.Diff(path=path, old_text=self.before, new_text=self.after),),
            raw_input={"path": path},
            waits=True,
        )

    def _first_changed_line(self) -> int:
        old, new = (self.before or "").splitlines(), self.after.splitlines()
        pairs = enumerate(zip(old, new, strict=False), 1)
        return next((number for number, (one, other) in pairs if one != other), min(len(old), len(new)) + 1)
