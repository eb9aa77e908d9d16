"""The skills component: a catalog for every agent, tools to read skills, and skills as slash commands.

The catalog goes with the first prompt of a new session, since not every agent shows its model the instructions of an
MCP server. The tools and commands are there for sessions that are opened again, too.
"""

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw

from portico.acp.session_methods import OPENING_METHODS
from portico.components.component import Component, ComponentContext, ComponentUnavailable
from portico.components.skills.catalog import (
    CATALOG_TOKENS,
    CatalogSkill,
    SkillCatalog,
    describe_catalog,
    load_catalog,
    open_grants,
)
from portico.components.skills.commands import (
    UPDATE,
    AgentCommands,
    announcement,
    expand_command,
    skill_commands,
)
from portico.components.skills.permission import request_skill_permission
from portico.components.skills.skill import Skill
from portico.components.skills.tools import SkillTools
from portico.conductor.mcp_bridge.server_list import read_opening
from portico.conductor.mcp_bridge.server_proxy import McpProxy
from portico.conductor.mcp_bridge.session_servers import ChainSession
from portico.conductor.prompt_message import METHOD as PROMPT
from portico.conductor.prompt_message import PromptMessage
from portico.conductor.proxy import Proxy
from portico.domain import codecs
from portico.domain.errors import PorticoError
from portico.files.deadline import within_deadline
from portico.mcp.server import InProcessServer, ToolServer
from portico.rpc.messages import Message

log = logging.getLogger(__name__)

SERVER_NAME = "portico-skills"
_INSTRUCTIONS = (
    "Skills of this workspace, of the person and of installed packages: instructions for particular tasks. skill_list "
    "lists them; read one with skill_read before you do a task that it is for. They grant no permission."
)
_MOST_TOKENS = 20_000
_MOST_EARLY = 16


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
    """The skills of one session, and whether its agent has been told of them."""

    def __init__(self, catalog: SkillCatalog, *, told: bool) -> None:
        self.catalog = catalog
        self.named = catalog.named()
        self.agent_names: frozenset[str] = frozenset()
        self.told = told


class SkillsProxy(McpProxy):
    name = "skills"
    client_methods = McpProxy.client_methods | {PROMPT}

    def __init__(self, environ: Mapping[str, str], tokens: int = CATALOG_TOKENS) -> None:
        super().__init__()
        self._environ = environ
        self._tokens = tokens
        self._found = SkillCatalog()
        self._skills: dict[ChainSession, _SessionSkills] = {}
        self._early: dict[str, AgentCommands] = {}
        """Commands of sessions that the agent has not named in an answer yet."""

    def from_client(self, message: Message) -> None:
        if message.method in OPENING_METHODS and message.is_request:
            self.node.spawn(self._look_and_open(message), "looking for skills")
        elif message.method == PROMPT:
            self.node.send_right(self._with_skills(message))
        else:
            super().from_client(message)

    def from_agent(self, message: Message) -> None:
        if message.method == UPDATE:
            self.node.send_left(self._with_commands(message))
        else:
            super().from_agent(message)

    async def _look_and_open(self, message: Message) -> None:
        """Skills are looked for each time that a session is opened: people add and allow them meanwhile."""
        opening = read_opening(message.params)
        catalog = SkillCatalog()
        if opening is not None and opening.cwd:
            workspace = Path(opening.placed.workspace or opening.cwd)
            try:
                catalog = await within_deadline(lambda: load_catalog(workspace, self._environ))
            except (PorticoError, OSError, ValueError) as error:
                log.warning("the session goes on without skills: %s", error)
        self._found = catalog
        try:
            super().from_client(message)
        finally:
            self._found = SkillCatalog()

    def servers_for(self, session: ChainSession, servers: Sequence[Raw]) -> Sequence[Raw]:
        if self._found.named() or self._found.closed():
            # A session that is opened again has been told in its first prompt.
            self._skills[session] = _SessionSkills(self._found, told=session.session_id is not None)
            self.agent_methods = McpProxy.agent_methods | {UPDATE}
        return super().servers_for(session, servers)

    def servers(self, session: ChainSession) -> Sequence[InProcessServer]:
        known = self._skills.get(session)
        if known is None:
            return ()
        tools = SkillTools(known.catalog, self._allowed, partial(self._permit, session))
        return (ToolServer(SERVER_NAME, tools.tools(), instructions=_INSTRUCTIONS),)

    def opened(self, session: ChainSession) -> None:
        known, session_id = self._skills.get(session), session.session_id or ""
        commands = self._early.pop(session_id, AgentCommands(session_id, (), frozenset()))
        if known is not None and session_id:
            known.agent_names = commands.names
            if skill_commands(known.named, commands.names):
                self.node.send_left(announcement(commands, known.named))

    def forget(self, session: ChainSession) -> None:
        super().forget(session)
        self._skills.pop(session, None)
        if not self._skills:
            self.agent_methods = McpProxy.agent_methods

    def _allowed(self) -> Mapping[str, str]:
        return open_grants(self._environ).read().allowed

    async def _permit(self, session: ChainSession, entry: CatalogSkill, skill: Skill) -> None:
        await request_skill_permission(self.node, session.session_id or "", entry, skill)

    def _with_skills(self, message: Message) -> Message:
        prompt = PromptMessage.read(message) if self._skills else None
        known = None if prompt is None else self._of(prompt.session_id)
        if prompt is None or known is None:
            return message
        if prompt.command is not None:
            return expand_command(prompt, skill_commands(known.named, known.agent_names)) or message
        if known.told:
            return message
        known.told = True
        text = describe_catalog(known.catalog, self._tokens)
        return message if text is None else prompt.with_context(text)

    def _with_commands(self, message: Message) -> Message:
        commands = AgentCommands.read(message)
        known = None if commands is None else self._of(commands.session_id)
        if commands is None:
            return message
        if known is None:
            self._early = dict([*self._early.items(), (commands.session_id, commands)][-_MOST_EARLY:])
            return message
        known.agent_names = commands.names
        return announcement(commands, known.named)

    def _of(self, session_id: str) -> _SessionSkills | None:
        found: Any = [known for session, known in self._skills.items() if session.session_id == session_id]
        return found[-1] if found else None
