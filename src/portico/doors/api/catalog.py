"""Catalog that AgentService offers besides sessions: agents, models, prompts, files, settings, secrets."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from portico.api.v1 import agent_pb as pb
from portico.conductor.permissions.approvals import Approval
from portico.config.setting_descriptions import SettingDescription
from portico.domain.catalog import (
    AgentEntry,
    ListedScenario,
    ModelEntry,
    ModelServerEntry,
    PromptBlank,
    PromptEntry,
    ProviderCheck,
    ProviderEntry,
    SkillEntry,
    Suggestion,
)
from portico.domain.components import SessionComponents
from portico.domain.events import Event
from portico.domain.ids import SessionId
from portico.domain.reviews import ReviewMode
from portico.domain.session_summary import SessionSummary
from portico.doors.path_search import PathMatch
from portico.sessions.ports import AgentSpec
from portico.sessions.turn import TurnPrompt


class ServerInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about the running server."""

    version: str
    page_build: str
    started_at: int
    workspace: str
    default_agent: str
    home: str


class PromptRunPlan(Protocol):
    """A prompt that is filled in: how to open its session, what to send, and its result after the turn."""

    @property
    def spec(self) -> AgentSpec: ...

    @property
    def mode(self) -> ReviewMode: ...

    @property
    def reads_only(self) -> bool: ...

    @property
    def prompt(self) -> TurnPrompt: ...

    @property
    def has_own_limits(self) -> bool:
        """Whether its agent was started with limits that hold for this run only."""
        ...

    def take(self, event: Event) -> None:
        """Record an event of the turn."""
        ...

    async def finish(self, session_id: SessionId) -> pb.PromptRunResult:
        """The result of the run. Writes the output file, if the prompt has one."""
        ...


class Catalog(Protocol):
    """The choices in a workspace, and the user's own settings, approvals and secrets."""

    @property
    def workspace(self) -> Path:
        """The folder of the server."""
        ...

    async def info(self) -> ServerInfo: ...

    async def agent(self, name: str, workspace: Path) -> AgentSpec:
        """The named agent, or the default for an empty name. AgentNotFound for an unknown name."""
        ...

    async def agent_of(self, summary: SessionSummary) -> AgentSpec:
        """The agent that an existing session continues with."""
        ...

    def chosen_components(self) -> SessionComponents:
        """The components that the calling window switches on and off in its new sessions."""
        ...

    async def agents(self, workspace: Path) -> Sequence[AgentEntry]: ...

    async def scenarios(self, workspace: Path) -> tuple[Sequence[ListedScenario], Sequence[str]]:
        """The scenarios of Porter, and problems with their files."""
        ...

    async def providers(self, workspace: Path) -> tuple[Sequence[ProviderEntry], str]:
        """All providers, ready or not, and the default model, if any. Sends no request."""
        ...

    async def check_provider(self, workspace: Path, request: pb.CheckProviderRequest) -> ProviderCheck:
        """Ask a provider, or a server of the person's own, about a key and its models. Stores nothing."""
        ...

    async def find_servers(self) -> Sequence[ModelServerEntry]:
        """The model servers on the usual ports of this machine."""
        ...

    async def models(self, workspace: Path) -> tuple[Sequence[ModelEntry], str]:
        """The models whose provider is ready, the default first, and the default's name. Sends no request."""
        ...

    def complete(
        self, workspace: Path, request: pb.CompleteModelRequest
    ) -> AsyncGenerator[pb.CompleteModelResponse]:
        """Stream the completion of a model, within the budgets. Closing it ends the request."""
        ...

    def pull(self, name: str) -> AsyncGenerator[pb.PullModelResponse]:
        """Download an offline model and stream the progress. Closing it pauses the download."""
        ...

    async def mode(self, workspace: Path) -> ReviewMode:
        """The review mode of new sessions."""
        ...

    async def has_mode(self, workspace: Path) -> bool:
        """Whether the settings choose the review mode of new sessions."""
        ...

    async def find_files(self, workspace: Path, query: str, limit: int) -> Sequence[PathMatch]:
        """Files whose path matches, best first; the likeliest files for an empty query."""
        ...

    async def files(self, workspace: Path) -> Sequence[str]:
        """All files of a folder that are not ignored or private."""
        ...

    async def suggestions(self, workspace: Path, commands: frozenset[str]) -> Sequence[Suggestion]:
        """Things to do that fit a folder, by the slash commands of the agent where it has them."""
        ...

    async def prompts(self, workspace: Path) -> Sequence[PromptEntry]:
        """The prompts kept as files, by name, without those hidden by another of the same name."""
        ...

    async def prompt(self, workspace: Path, name: str) -> Sequence[str | PromptBlank]:
        """A prompt in pieces, with its defaults filled in. InvalidInput if it cannot be used."""
        ...

    async def prepare_run(self, workspace: Path, request: pb.RunPromptRequest) -> PromptRunPlan:
        """Fill in a prompt and prepare its run. InvalidInput if it cannot be used, or a value is wrong."""
        ...

    async def save_variables(self, workspace: Path, values: Mapping[str, str]) -> Path:
        """Save session variables in the file that the settings name; returns its path. InvalidInput without one."""
        ...

    async def settings(self, workspace: Path) -> tuple[Sequence[SettingDescription], Sequence[str]]:
        """The settings in effect, and problems with the settings of the workspace."""
        ...

    async def change_settings(self, changes: Sequence[tuple[str, str]]) -> None:
        """Set user settings by name and JSON value; an empty value removes one. InvalidInput if wrong."""
        ...

    async def skills(self, workspace: Path) -> Sequence[SkillEntry]:
        """The skills of the user, of a folder and of its packages."""
        ...

    async def allow_skill(self, workspace: Path, skill_id: str, fingerprint: str) -> None:
        """Let agents use a skill as the person has seen it. InvalidInput if it has changed since."""
        ...

    async def deny_skill(self, workspace: Path, skill_id: str) -> None:
        """Keep agents from using a skill."""
        ...

    def approvals(self) -> Sequence[Approval]: ...

    def revoke_approval(self, approval_id: str) -> None: ...

    async def keep_secret(self, name: str, value: str) -> Literal["keyring", "memory"]:
        """Keep a secret for agents, or remove it if empty; returns where it is kept."""
        ...
