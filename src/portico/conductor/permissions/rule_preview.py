"""Preview of a permission rule: whether it covers a request, and which files it covers besides."""

from collections.abc import Iterable

import msgspec
from msgspec import Raw

from portico.acp import _schema as acp
from portico.conductor.permissions.action import RequestedAction, requested_action
from portico.conductor.permissions.policy import parse_rule
from portico.domain import codecs
from portico.domain.events import PermissionRequested
from portico.domain.values import DiffPart

_FILE_KINDS = frozenset({"read", "edit", "delete", "move"})


class RulePreview(msgspec.Struct, frozen=True):
    """Whether a rule covers the request, and the files of the workspace that it covers."""

    covers_request: bool
    files: tuple[str, ...] = ()


def is_about_files(text: str) -> bool:
    """Whether a rule can cover files. InvalidInput if the text is not a rule."""
    return parse_rule(text).kind in _FILE_KINDS


def preview_rule(
    text: str, request: PermissionRequested, *, agent: str, workspace: str, files: Iterable[str]
) -> RulePreview:
    """Preview a rule. InvalidInput if the text is not one."""
    rule = parse_rule(text)
    action = _action_of(request, agent, workspace)
    covered: tuple[str, ...] = ()
    if rule.kind in _FILE_KINDS:
        template = RequestedAction(agent=agent, workspace=workspace, kind=rule.kind, title="")
        covered = tuple(
            file for file in files if rule.covers(msgspec.structs.replace(template, paths=(file,)))
        )
    return RulePreview(rule.covers(action), covered)


def _action_of(request: PermissionRequested, agent: str, workspace: str) -> RequestedAction:
    raw_input = codecs.decode_json(request.input) if isinstance(request.input, Raw) else None
    diffs = [part for part in request.content if isinstance(part, DiffPart)]
    call = acp.ToolCallUpdate(
        tool_call_id=request.tool_id,
        title=request.title,
        kind=request.tool_kind,
        raw_input=raw_input,
        locations=[acp.ToolCallLocation(path=one.path) for one in request.locations],
        content=[acp.Diff(path=one.path, new_text="") for one in diffs],
    )
    return requested_action(call, agent=agent, workspace=workspace)
