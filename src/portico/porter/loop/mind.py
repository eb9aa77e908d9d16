"""What a session thinks with: the model it has open, the tools of its servers, and the turn that answers free text."""

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path

import msgspec

from portico.acp import _schema as schema
from portico.domain.errors import AuthRequired, PorticoError
from portico.porter.conversation import Conversation
from portico.porter.loop.delegating import Delegating
from portico.porter.loop.instructions import system_text
from portico.porter.loop.loop import Loop, Means
from portico.porter.loop.prompting import user_message
from portico.porter.loop.shelf import Shelf
from portico.porter.loop.size import Measure
from portico.porter.loop.tally import Purse, Tally, Unlimited
from portico.porter.mcp.servers import McpServers
from portico.porter.models.port import Model
from portico.porter.prompt import Prompt
from portico.porter.scenarios.scenario import Scenario
from portico.porter.setup import Setup, SetupOf
from portico.porter.tools.bench import Bench
from portico.porter.tools.table import offered, unknown_tools
from portico.porter.turn import Turn

log = logging.getLogger(__name__)


_TINY = "This is answered by a tiny model on this machine, which is no help with code."
_BETTER = (
    "Connect a better one: portico models list shows them, portico auth login PROVIDER keeps a key, "
    "portico models use PROVIDER:MODEL chooses one."
)


class Mind:
    def __init__(
        self, conversation: Conversation, setup_of: SetupOf, environ: Mapping[str, str], outputs: Path
    ) -> None:
        self._conversation = conversation
        self._setup_of = setup_of
        self._environ = environ
        self._shelf = Shelf(outputs)
        self._servers = McpServers(
            conversation.circumstances.mcp_servers,
            conversation.workspace.roots,
            environ,
            can_ask=conversation.can_ask,
        )
        self._model: Model | None = None
        self._measure = Measure()
        self._purse: Purse | None = None
        self._tally: Tally | None = None
        self._checked: set[str] = set()

    async def answer(self, turn: Turn, prompt: Prompt) -> schema.StopReason | None:
        """Answer free text; how that ended. None when there is no model. Raises what the model raises."""
        conversation, self._tally = self._conversation, None
        setup = await asyncio.to_thread(self._setup_of, conversation.circumstances.home)
        scenario = conversation.scenario
        name = conversation.model or scenario.model or await asyncio.to_thread(setup.choose)
        if name is None:
            return None
        self._tally = Tally(conversation)
        means = await self._means(name, setup, self._tally)
        means.purse.begin_turn()
        self._check(scenario, turn)
        if means.facts.tiny:
            turn.notice_once(_TINY, _BETTER)
        message = user_message(prompt, turn.workspace, self._shelf, images=means.facts.images)
        conversation.history.add(message)
        bench = Bench(
            turn=turn,
            scenario=scenario,
            shelf=self._shelf,
            background=conversation.background,
            environ=self._environ,
            scratch=conversation.circumstances.scratch,
            images=means.facts.images,
        )
        tools = offered(scenario, await self._servers.tools(turn) if means.facts.tools else ())
        bench = msgspec.structs.replace(
            bench, delegate=Delegating(means, bench, tools, conversation.scenarios).do
        )
        system = await asyncio.to_thread(system_text, scenario, turn.workspace, tiny=means.facts.tiny)
        loop = Loop(means, bench, tools, system=system, history=conversation.history, voice=turn)
        try:
            return await loop.run()
        except AuthRequired:
            # Whoever signs in again has another key.
            await self._let_go()
            raise

    @property
    def usage(self) -> schema.Usage | None:
        """What the last turn took; None if no model was asked."""
        return None if self._tally is None else self._tally.of_turn()

    async def close(self) -> None:
        """End the servers and let go of the model."""
        await self._servers.close()
        await self._let_go()

    async def _means(self, name: str, setup: Setup, tally: Tally) -> Means:
        if self._model is None or self._model.name != name:
            await self._let_go()
            self._model = setup.open(name)
            self._measure = Measure()
        if self._purse is None:
            spent = (self._conversation.spent_tokens, self._conversation.spent_dollars or 0.0)
            self._purse = Unlimited() if setup.purse is None else setup.purse(*spent)
        return Means(
            model=self._model,
            facts=await self._model.facts(),
            measure=self._measure,
            tally=tally,
            purse=self._purse,
        )

    def _check(self, scenario: Scenario, turn: Turn) -> None:
        """Say once which tools of a scenario do not exist."""
        if scenario.name not in self._checked and (unknown := unknown_tools(scenario)):
            title = f"The scenario {scenario.name} names tools that do not exist: {', '.join(unknown)}."
            turn.notice(title, severity="warning")
        self._checked.add(scenario.name)

    async def _let_go(self) -> None:
        model, self._model = self._model, None
        if model is not None:
            try:
                await model.close()
            except PorticoError:
                log.warning("the model %s was not closed in order", model.name, exc_info=True)
