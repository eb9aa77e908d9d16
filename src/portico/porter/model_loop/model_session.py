"""The model, MCP servers and model loop of one session, opened with its first free-text prompt."""

import asyncio
import base64
import binascii
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import assert_never

import msgspec

from portico.acp import _schema as schema
from portico.domain.errors import AuthRequired, PorticoError
from portico.porter.markdown import code_block, language_of
from portico.porter.model_loop.delegation import Delegation
from portico.porter.model_loop.draft import Draft
from portico.porter.model_loop.drift import wants_change
from portico.porter.model_loop.instructions import system_text
from portico.porter.model_loop.loop import MeteredModel, ModelLoop
from portico.porter.model_loop.mcp_servers import McpServers
from portico.porter.model_loop.project_check import FAILURES, ProjectCheck, speaks_of_failure
from portico.porter.model_loop.relevant_files import read_relevant_files
from portico.porter.model_loop.token_estimate import TokenEstimate
from portico.porter.model_loop.usage import TurnUsage
from portico.porter.models.model import Model, ModelImage, ModelText, UserMessage
from portico.porter.models.spending_limit import NoSpendingLimit, SpendingLimit
from portico.porter.output_store import OutputStore
from portico.porter.profiles.profile import profile_of
from portico.porter.prompt import PorterPrompt, path_of
from portico.porter.scenarios.scenario import Scenario
from portico.porter.session import PorterSession
from portico.porter.setup import PorterSetup, SetupReader
from portico.porter.tool_call import ToolError
from portico.porter.tools.catalog import offered_tools, unknown_tools
from portico.porter.tools.context import Outline, ToolContext
from portico.porter.tools.tool import ModelTool
from portico.porter.turn import PorterTurn
from portico.porter.workspace import Workspace

# The limit for the user's own text is much higher than that for tool results.
_LONGEST = 300_000


def user_message(
    prompt: PorterPrompt, workspace: Workspace, output_store: OutputStore, *, images: bool
) -> UserMessage:
    parts = tuple(_part(block, workspace, output_store, images=images) for block in prompt.blocks)
    return UserMessage(parts or (ModelText(prompt.argument),))


def _part(
    block: schema.ContentBlock, workspace: Workspace, output_store: OutputStore, *, images: bool
) -> ModelText | ModelImage:
    match block:
        case schema.TextContent(text=text):
            return ModelText(output_store.cut(text, _LONGEST))
        case schema.ImageContent(data=data, mime_type=media_type):
            return (
                _image(data, media_type) if images else ModelText("[An image, which this model cannot view.]")
            )
        case schema.ResourceLink(name=name, uri=uri):
            path = path_of(uri)
            return ModelText(f"[The user refers to {workspace.shown(path) if path else f'{name}, {uri}'}.]")
        case schema.EmbeddedResource(resource=resource):
            return ModelText(_attached(resource, workspace, output_store))
        case schema.AudioContent():
            return ModelText("[An audio recording, which is not supported.]")
        case _:
            assert_never(block)


def _attached(
    resource: schema.EmbeddedResourceResource, workspace: Workspace, output_store: OutputStore
) -> str:
    path = path_of(resource.uri)
    name = workspace.shown(path) if path else resource.uri
    if resource.text is None:
        return f"[The user attached {name}, which is not text.]"
    language = language_of(path) if path else ""
    return f"[The user attached {name}:]\n{code_block(output_store.cut(resource.text, _LONGEST), language)}"


def _image(data: str, media_type: str) -> ModelText | ModelImage:
    try:
        return ModelImage(base64.b64decode(data, validate=True), media_type)
    except (binascii.Error, ValueError):
        return ModelText("[An image that could not be read.]")


def _outline(context: ToolContext, tools: Mapping[str, ModelTool]) -> Outline | None:
    """Return what lists the definitions in a file, if the profile names a tool for it that is offered."""
    tool = tools.get(context.profile.outline or "")
    if tool is None or not tool.read_only:
        return None

    async def outline(path: str) -> str:
        try:
            outcome = await tool.call(context, msgspec.json.encode({"path": path}).decode())
        except (ToolError, PorticoError):
            return ""
        parts = () if outcome.failed else outcome.parts
        return "\n".join(part.text for part in parts if isinstance(part, ModelText))

    return outline


async def _failures_before(context: ToolContext, text: str, check: ProjectCheck) -> tuple[ModelText, ...]:
    """Return what a check of the project says, if the profile wants it first and the prompt speaks of a failure."""
    if not context.profile.checks.first or not context.may_write or not speaks_of_failure(text):
        return ()
    failures = await check.failures(context, FAILURES)
    return () if failures is None else (ModelText(failures),)


def _draft(context: ToolContext, prompt: str, shown: Sequence[str]) -> Draft | None:
    """Return the draft of a turn, if the profile has one, the prompt asks for a change and files were shown."""
    wanted = context.profile.texts.draft and context.may_write and wants_change(prompt)
    return Draft(context, prompt, shown) if wanted and shown else None


log = logging.getLogger(__name__)


_READ_ONLY = "This session is read-only: you cannot change files or run commands. Answer with text, as the user asks for it."
_TINY = "A tiny model on this machine answers, which cannot help with code."
_BETTER = (
    "For a better one, choose Connect a model in the chat, or download a coder with: "
    "portico models pull qwen2.5-coder"
)


class ModelSession:
    def __init__(
        self, session: PorterSession, setup_of: SetupReader, environ: Mapping[str, str], outputs: Path
    ) -> None:
        self._session = session
        self._setup_of = setup_of
        self._environ = environ
        self._output_store = OutputStore(outputs)
        self._servers = McpServers(
            session.parameters.mcp_servers,
            session.workspace.roots,
            environ,
            can_ask=session.can_ask,
        )
        self._model: Model | None = None
        self._token_estimate = TokenEstimate()
        self._spending_limit: SpendingLimit | None = None
        self._turn_usage: TurnUsage | None = None
        self._checked: set[str] = set()

    async def answer(self, turn: PorterTurn, prompt: PorterPrompt) -> schema.StopReason | None:
        """Answer free text and return the stop reason. Raises the model's errors.

        None if no model is set up, or if it is small and a command answers better.
        """
        session, self._turn_usage = self._session, None
        setup = await asyncio.to_thread(self._setup_of, session.parameters.home)
        scenario = session.scenario
        name = session.model or scenario.model or await asyncio.to_thread(setup.choose)
        if name is None:
            return None
        self._turn_usage = TurnUsage(session)
        metered = await self._metered(name, setup, self._turn_usage)
        profile = await asyncio.to_thread(profile_of, metered.facts)
        if profile.commands and prompt.meant is not None:
            return None
        metered.spending_limit.begin_turn()
        self._check(scenario, turn)
        if metered.facts.tiny:
            turn.notice_once(_TINY, _BETTER)
        context = ToolContext(
            turn=turn,
            scenario=scenario,
            output_store=self._output_store,
            background=session.background,
            environ=self._environ,
            profile=profile,
            working_copy=session.parameters.working_copy,
            images=metered.facts.images,
        )
        others = await self._servers.tools(turn) if metered.facts.tools else ()
        tools = offered_tools(scenario, context.profile, others, may_write=context.may_write)
        context = msgspec.structs.replace(context, outline=_outline(context, tools))
        check = ProjectCheck(context.profile.checks.tools, {tool.name: tool for tool in others})
        files = await read_relevant_files(context, prompt.argument) if metered.facts.tools else {}
        failures = await _failures_before(context, prompt.argument, check)
        message = user_message(prompt, turn.workspace, self._output_store, images=metered.facts.images)
        session.history.add(UserMessage((*files.values(), *failures, *message.parts)))
        context = msgspec.structs.replace(
            context, delegate=Delegation(metered, context, tools, session.scenarios).do
        )
        system = await asyncio.to_thread(system_text, scenario, turn.workspace, context.profile)
        if session.parameters.reads_only:
            system = f"{system}\n\n{_READ_ONLY}"
        loop = ModelLoop(
            metered,
            context,
            tools,
            system=system,
            history=session.history,
            sink=turn,
            check=check,
            draft=_draft(context, prompt.argument, tuple(files)),
        )
        try:
            return await loop.run()
        except AuthRequired:
            # The next login changes the key.
            await self._close_model()
            raise

    @property
    def usage(self) -> schema.Usage | None:
        """The token usage of the last turn; None if no model was called."""
        return None if self._turn_usage is None else self._turn_usage.total()

    async def close(self) -> None:
        """Stop the MCP servers and close the model."""
        await self._servers.close()
        await self._close_model()

    async def _metered(self, name: str, setup: PorterSetup, turn_usage: TurnUsage) -> MeteredModel:
        if self._model is None or self._model.name != name:
            await self._close_model()
            self._model = setup.open(name)
            self._token_estimate = TokenEstimate()
        if self._spending_limit is None:
            spent = (self._session.spent_tokens, self._session.spent_dollars or 0.0)
            self._spending_limit = (
                NoSpendingLimit() if setup.spending_limit is None else setup.spending_limit(*spent)
            )
        return MeteredModel(
            model=self._model,
            facts=await self._model.facts(),
            token_estimate=self._token_estimate,
            turn_usage=turn_usage,
            spending_limit=self._spending_limit,
        )

    def _check(self, scenario: Scenario, turn: PorterTurn) -> None:
        """Warn once about tools of a scenario that do not exist."""
        if scenario.name not in self._checked and (unknown := unknown_tools(scenario)):
            title = f"The scenario {scenario.name} names tools that do not exist: {', '.join(unknown)}."
            turn.notice(title, severity="warning")
        self._checked.add(scenario.name)

    async def _close_model(self) -> None:
        model, self._model = self._model, None
        if model is not None:
            try:
                await model.close()
            except PorticoError:
                log.warning("could not close the model %s", model.name, exc_info=True)
