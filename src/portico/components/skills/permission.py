"""Permission request for a package's skill that the person has not allowed, or that has changed since."""

import secrets

from portico.acp import _schema as acp
from portico.components.permission import request_permission
from portico.components.skills.catalog import CatalogSkill, SkillState
from portico.components.skills.skill import Skill
from portico.conductor.node import ProxyNode
from portico.mcp.tools import ToolFailure

_ALLOW, _REJECT = "use", "leave"
_OPTIONS = [
    acp.PermissionOption(option_id=_ALLOW, name="Let the agent read it", kind="allow_once"),
    acp.PermissionOption(option_id=_REJECT, name="Do not use it", kind="reject_once"),
]


async def request_skill_permission(
    node: ProxyNode, session_id: str, entry: CatalogSkill, skill: Skill
) -> None:
    """Returns when the person agrees. ToolFailure, for the model, if not."""
    if await request_permission(node, _question(session_id, entry, skill)) != _ALLOW:
        raise ToolFailure(
            f"The person did not allow the skill {entry.id}. Go on without it; they can allow it with: "
            f"portico skills allow {entry.id}"
        )


def _question(session_id: str, entry: CatalogSkill, skill: Skill) -> acp.RequestPermissionRequest:
    # The fingerprint is in the title, so that a grant for good holds for the skill as it is now.
    title = f"Use the skill {skill.name} of {entry.source} (fingerprint {skill.fingerprint[:16]})"
    changed = "It has changed since you allowed it. " if entry.state is SkillState.CHANGED else ""
    words = f"{changed}{skill.description}\n\n{skill.folder}"
    call = acp.ToolCallUpdate(
        tool_call_id=f"portico-skill-{secrets.token_hex(8)}",
        title=title,
        kind="other",
        content=[acp.Content(content=acp.TextContent(text=words))],
    )
    return acp.RequestPermissionRequest(session_id=session_id, tool_call=call, options=_OPTIONS)
