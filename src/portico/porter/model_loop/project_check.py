"""The automatic check of a project: tests, or another check, by the tools of the build component."""

import re
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
FAILURES = "[The project was checked:\n{report}]\n\n"
_LONGEST = 3000
_SPEAKS_OF_FAILURE = re.compile(
    r"\b(?:tests?|fail\w*|errors?|exceptions?|crash\w*|broken|bugs?|wrong\w*)\b", re.IGNORECASE
)


def speaks_of_failure(text: str) -> bool:
    """Return whether a prompt is about something that a check of the project may show."""
    return _SPEAKS_OF_FAILURE.search(text) is not None


class ProjectCheck:
    """Runs the first of its tools that finds something to run. After a failure, or if the user declines, none runs again.

    `passed` is what the last run said; None if there was none, or it could not tell.
    """

    def __init__(self, names: Sequence[str], tools: Mapping[str, ModelTool]) -> None:
        self._tools = [tools[name] for name in names if name in tools]
        self.passed: bool | None = None

    async def failures(self, context: ToolContext, words: str = REPAIR) -> str | None:
        """Return a message for the model about what fails; None if nothing does, or that is not known."""
        self.passed = None
        while self._tools:
            try:
                outcome = await self._tools[0].call(context, "{}")
            except (ToolError, PorticoError):
                self._tools.clear()
                break
            report = "\n".join(part.text for part in outcome.parts if isinstance(part, ModelText))
            self.passed = None if outcome.failed else read_verdict(report)
            if self.passed is not None:
                return None if self.passed else words.format(report=report[:_LONGEST])
            if not report.startswith(tuple(NOTHING_FOUND.values())):
                self._tools.clear()
                break
            del self._tools[0]
        return None
