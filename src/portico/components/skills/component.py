"""The skills component: a catalog for every agent, tools to read skills, and skills as slash commands."""

import secrets
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import msgspec
from msgspec import Raw

from portico.acp import _schema as acp
from portico.components.component import Component, ComponentContext, ComponentUnavailable
from portico.components.permission import request_permission
from portico.components.session_lookup import SessionLookupProxy
from portico.components.skills.catalog import (
    CATALOG_TOKENS,
    CatalogSkill,
    SkillCatalog,
    SkillState,
    describe_catalog,
    load_catalog,
    open_grants,
)
from portico.components.skills.commands import (
    COMMANDS_UPDATE,
    UPDATE,
    AgentCommands,
    announcement,
    expand_command,
    skill_commands,
)
from portico.components.skills.skill import Skill
from portico.components.skills.tools import SkillTools
from portico.conductor.mcp_bridge.server_list import SessionOpening
from portico.conductor.mcp_bridge.server_proxy import McpProxy
from portico.conductor.mcp_bridge.session_servers import ChainSession
from portico.conductor.node import ProxyNode
from portico.conductor.prompt_message import PromptMessage
from portico.conductor.proxy import Proxy
from portico.domain import codecs
from portico.mcp.server import InProcessServer, ToolServer
from portico.mcp.tools import ToolFailure
from portico.rpc.messages import Message

SERVER_NAME = "portico-skills"
_INSTRUCTIONS = (
    "Skills of this workspace, of the person and of installed packages: instructions for particular tasks. skill_list "
    "lists them; read one with skill_read before you do a task that it is for. They grant no permission."
)
_MOST_TOKENS = 20_000
_MOST_EARLY = 16
_ALLOW, _REJECT = "use", "leave"
_OPTIONS = [
    acp.PermissionOption(option_id=_ALLOW, name="Let the agent read it", kind="allow_once"),
    acp.PermissionOption(option_id=_REJECT, name="Do not use it", kind="reject_once"),
]


class SkillOptions(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`components.skills` of the settings."""

    catalog_tokens: int = CATALOG_TOKENS


class SkillsComponent(Component):
    name = "skills"
    summary = "Agent Skills of the workspace, the user and installed packages for any agent"

    def plan(self, context: ComponentContext) -> Sequence[Proxy]:
        try:
            options = codecs.convert(dict(context.options), SkillOptions)
        except msgspec.ValidationError as error:
            raise ComponentUnavailable(
                f'"components.skills" of the settings is not valid: {error}.'
            ) from error
        tokens = min(max(options.catalog_tokens, 0), _MOST_TOKENS)
        return (SkillsProxy(context.environ, tokens),)


class _SessionSkills:
    """The skills of one session, and the commands of its agent."""

    def __init__(self, catalog: SkillCatalog) -> None:
        self.catalog = catalog
        self.named = catalog.named()
        self.agent_names: frozenset[str] = frozenset()


class SkillsProxy(SessionLookupProxy[_SessionSkills]):
    name = "skills"
    update_kinds = (COMMANDS_UPDATE,)

    def __init__(self, environ: Mapping[str, str], tokens: int = CATALOG_TOKENS) -> None:
        super().__init__()
        self._environ = environ
        self._tokens = tokens
        self._early: dict[str, AgentCommands] = {}
        """Commands of sessions that the agent has not named in an answer yet."""

    def look_up(self, opening: SessionOpening) -> _SessionSkills | None:
        catalog = load_catalog(Path(opening.placed.workspace or opening.cwd), self._environ)
        return _SessionSkills(catalog) if catalog.named() or catalog.closed() else None

    def describe(self, found: _SessionSkills) -> str | None:
        return describe_catalog(found.catalog, self._tokens)

    def expand(self, prompt: PromptMessage, found: _SessionSkills) -> Message | None:
        return expand_command(prompt, skill_commands(found.named, found.agent_names))

    def from_agent(self, message: Message) -> None:
        if message.method == UPDATE:
            self.node.send_left(self._with_commands(message))
        else:
            super().from_agent(message)

    def servers(self, session: ChainSession) -> Sequence[InProcessServer]:
        known = self.found.get(session)
        if known is None:
            return ()
        tools = SkillTools(known.catalog, self._allowed, partial(self._permit, session))
        return (ToolServer(SERVER_NAME, tools.tools(), instructions=_INSTRUCTIONS),)

    def servers_for(self, session: ChainSession, servers: Sequence[Raw]) -> Sequence[Raw]:
        changed = super().servers_for(session, servers)
        self._see_updates()
        return changed

    def forget(self, session: ChainSession) -> None:
        super().forget(session)
        self._see_updates()

    def _see_updates(self) -> None:
        """Updates of agents pass by unseen while no session has skills."""
        self.agent_methods = McpProxy.agent_methods | ({UPDATE} if self.found else frozenset())

    def opened(self, session: ChainSession) -> None:
        known, session_id = self.found.get(session), session.session_id or ""
        commands = self._early.pop(session_id, AgentCommands(session_id, (), frozenset()))
        if known is not None and session_id:
            known.agent_names = commands.names
            if skill_commands(known.named, commands.names):
                self.node.send_left(announcement(commands, known.named))

    def _with_commands(self, message: Message) -> Message:
        commands = AgentCommands.read(message)
        if commands is None:
            return message
        session = self.session_of(commands.session_id)
        if session is None:
            self._early = dict([*self._early.items(), (commands.session_id, commands)][-_MOST_EARLY:])
            return message
        self.found[session].agent_names = commands.names
        return announcement(commands, self.found[session].named)

    def _allowed(self) -> Mapping[str, str]:
        return open_grants(self._environ).read().allowed

    async def _permit(self, session: ChainSession, entry: CatalogSkill, skill: Skill) -> None:
        await _request_skill_permission(self.node, session.session_id or "", entry, skill)


async def _request_skill_permission(
    node: ProxyNode, session_id: str, entry: CatalogSkill, skill: Skill
) -> None:
    """Returns when the person agrees. ToolFailure, for the model, if not."""
    if await request_permission(node, _question(session_id, entry, skill)) != _ALLOW:
        raise ToolFailure(
            f"The person did not allow the skill {entry.id}. Continue without it; they can allow it with: "
            f"portico skills allow {entry.id}"
        )


def _question(session_id: str, entry: CatalogSkill, skill: Skill) -> acp.RequestPermissionRequest:
    # The fingerprint is in the title, so that a permanent grant holds for the skill as it is now.
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
