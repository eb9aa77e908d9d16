"""All built-in tools, in the order in which a model sees them."""

from collections.abc import Mapping

from portico.porter.profiles.profile import ModelProfile
from portico.porter.scenarios.scenario import Scenario
from portico.porter.tools import (
    ask,
    command_output,
    delegate,
    delete,
    edit,
    fetch,
    glob,
    grep,
    list,  # noqa: A004 - the tool's name
    move,
    propose_changes,
    read,
    read_output,
    run,
    search_replace,
    stop_command,
    todo_read,
    todo_write,
    write,
)
from portico.porter.tools.tool import ModelTool

TOOLS: tuple[ModelTool, ...] = (
    read.TOOL,
    list.TOOL,
    glob.TOOL,
    grep.TOOL,
    edit.TOOL,
    write.TOOL,
    delete.TOOL,
    move.TOOL,
    run.TOOL,
    command_output.TOOL,
    stop_command.TOOL,
    propose_changes.TOOL,
    todo_read.TOOL,
    todo_write.TOOL,
    fetch.TOOL,
    ask.TOOL,
    delegate.TOOL,
    read_output.TOOL,
)


VARIANTS: Mapping[tuple[str, str], ModelTool] = {("edit", "search-replace"): search_replace.TOOL}
"""Other forms of a tool, by its name and the word that a profile has for the form."""


_WRITES = frozenset(
    tool.name for tool in (edit.TOOL, write.TOOL, delete.TOOL, move.TOOL, run.TOOL, stop_command.TOOL)
)


def offered_tools(
    scenario: Scenario, profile: ModelProfile, others: tuple[ModelTool, ...] = (), *, may_write: bool = True
) -> dict[str, ModelTool]:
    """Return the tools that a scenario and a profile offer, by name; `others` are those of MCP servers."""
    offered = (
        tool
        for tool in (*TOOLS, *others)
        if scenario.offers(tool.name, read_only=tool.read_only) and profile.offers(tool.name)
        if may_write or tool.name not in _WRITES
    )
    return {
        tool.name: VARIANTS.get((tool.name, profile.variants.get(tool.name, "")), tool) for tool in offered
    }


def unknown_tools(scenario: Scenario) -> tuple[str, ...]:
    """Return the names in a scenario that match no tool. Patterns and tools of servers may match later."""
    known = {tool.name for tool in TOOLS}
    return tuple(
        name for name in scenario.tools if name not in known and "__" not in name and "*" not in name
    )
