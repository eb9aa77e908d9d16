"""Errors of Portico as a model reads them."""

from portico.domain.errors import PorticoError
from portico.mcp.tools import ToolFailure


def tool_failure(error: PorticoError) -> ToolFailure:
    """The failure of a call: what is wrong, and what to do about it."""
    return ToolFailure(f"{error.message} {error.suggestion}" if error.suggestion else error.message)
