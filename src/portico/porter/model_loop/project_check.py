"""The automatic check after a change: tests, or another check, by the tools of the build component."""

from collections.abc import Mapping, Sequence

from portico.domain.errors import PorticoError
from portico.porter.models.model import ModelText
from portico.porter.tool_call import ToolError
from portico.porter.tools.context import ToolContext
from portico.porter.tools.tool import ModelTool
from portico.project.build_commands import NOTHING_FOUND
from portico.project.verdict import read_verdict

REPAIR = (
    "[The project was checked after your change:\n{report}\nFix what your change broke, with edit. If these failures "
    "have nothing to do with the task, give your answer again.]"
)
_LONGEST = 3000


class ProjectCheck:
    """Runs the first of its tools that finds something to run. After a failure, or if the user declines, none runs again."""

    def __init__(self, names: Sequence[str], tools: Mapping[str, ModelTool]) -> None:
        self._tools = [tools[name] for name in names if name in tools]

    async def failures(self, context: ToolContext) -> str | None:
        """Return a message for the model about what fails; None if nothing does, or that is not known."""
        while self._tools:
            try:
                outcome = await self._tools[0].call(context, "{}")
            except (ToolError, PorticoError):
                self._tools.clear()
                break
            report = "\n".join(part.text for part in outcome.parts if isinstance(part, ModelText))
            succeeded = None if outcome.failed else read_verdict(report)
            if succeeded is not None:
                return None if succeeded else REPAIR.format(report=report[:_LONGEST])
            if not report.startswith(tuple(NOTHING_FOUND.values())):
                self._tools.clear()
                break
            del self._tools[0]
        return None
