"""Decides what a research session may do: read inside its package, and nothing else.

Every request is judged by what it is about. An option is chosen by its meaning, never by its place, and never one
that allows more than this once.
"""

import msgspec
from msgspec import Raw

from portico.acp import _schema as acp
from portico.acp.lenient_decoder import decode
from portico.components.packages.tree import PackageTree
from portico.conductor.permissions.action import RequestedAction, requested_action
from portico.conductor.permissions.request import PermissionOptions
from portico.conductor.permissions.tool_calls import ToolCallTracker
from portico.domain.errors import InvalidInput

RESEARCH_SERVER = "portico-research"
RESEARCH_TOOLS = ("package_source", "package_search", "package_read", "return_findings")
_READS = frozenset({"read", "search"})
_OWN_TOOLS = frozenset(f"{RESEARCH_SERVER}__{name}" for name in RESEARCH_TOOLS)


def judge_request(
    params: Raw, tree: PackageTree, calls: ToolCallTracker
) -> acp.RequestPermissionResponse | None:
    """The answer to a permission request; None if it has no option to refuse with, or cannot be read."""
    try:
        asked = decode(params, acp.RequestPermissionRequest)
    except msgspec.DecodeError:
        return None
    call = calls.complete(asked.session_id, asked.tool_call)
    options = PermissionOptions(asked.options)
    action = requested_action(call, agent="", workspace=str(tree.root))
    chosen = options.allow_once if is_allowed(action, tree) else None
    chosen = chosen or options.reject
    if chosen is None:
        return None
    return acp.RequestPermissionResponse(outcome=acp.SelectedPermissionOutcome(option_id=chosen))


def is_allowed(action: RequestedAction, tree: PackageTree) -> bool:
    """Whether an action reads files of the package, or calls one of the research tools, and does nothing else."""
    if action.acts or action.addresses or action.elsewhere or action.too_large or action.leads_out:
        return False
    if action.tool.known in _OWN_TOOLS:
        return True
    reads = action.kind in _READS and action.understood and bool(action.paths)
    return reads and all(_is_inside(path, tree) for path in (*action.paths, *action.texts))


def _is_inside(path: str, tree: PackageTree) -> bool:
    try:
        tree.locate(path)
    except InvalidInput:
        return False
    return True
