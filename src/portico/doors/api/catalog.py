"""Interface to what AgentService offers besides sessions: agents, models, prompts, files, settings, secrets."""

from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from portico.api.v1 import agent_pb as pb
from portico.domain.reviews import ReviewMode
from portico.domain.session_summary import SessionSummary
from portico.sessions.ports import AgentSpec


class ServerInfo(msgspec.Struct, frozen=True, kw_only=True):
    version: str
    page_build: str
    started_at: int
    workspace: str
    default_agent: str
    home: str


class AgentInfo(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    title: str
    installed: bool
    install_hint: str = ""
    is_default: bool = False


class ScenarioInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario of Porter; `model` is empty if it sets none."""

    name: str
    description: str
    model: str = ""
    is_default: bool = False


class ScenarioList(msgspec.Struct, frozen=True, kw_only=True):
    """Scenarios, and `problems` with invalid files."""

    scenarios: tuple[ScenarioInfo, ...]
    problems: tuple[str, ...] = ()


class ProviderSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A model provider. `key_variable` is empty if it needs no key; the default of `models` comes first."""

    name: str
    title: str
    ready: bool
    detail: str
    key_variable: str = ""
    needs_key: bool = False
    has_key: bool = False
    models: tuple[str, ...] = ()


class ProviderList(msgspec.Struct, frozen=True, kw_only=True):
    """Providers, and the default `model`; empty if there is none."""

    providers: tuple[ProviderSummary, ...]
    model: str = ""


class ModelInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A model whose provider is ready. `window` is zero if unknown."""

    name: str
    about: str = ""
    is_default: bool = False
    window: int = 0
    tools: bool = True
    images: bool = True


class FoundFile(msgspec.Struct, frozen=True, kw_only=True):
    """A path relative to the workspace, and the indices of its matched characters."""

    path: str
    matched: tuple[int, ...] = ()


class PromptInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt file. `problem` says why it cannot be used."""

    name: str
    description: str
    origin: Literal["workspace", "user"]
    problem: str = ""


class PromptBlank(msgspec.Struct, frozen=True, kw_only=True):
    """A blank that the person fills in."""

    name: str
    description: str = ""


class SettingView(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    value_json: str
    source: str
    description: str


class SettingList(msgspec.Struct, frozen=True, kw_only=True):
    """Effective settings of a folder, and `problems` with its invalid settings."""

    settings: tuple[SettingView, ...]
    problems: tuple[str, ...] = ()


class ApprovalView(msgspec.Struct, frozen=True, kw_only=True):
    approval_id: str
    agent: str
    rule: str
    workspace: str
    given_at: int


class ServerCatalog(Protocol):
    @property
    def workspace(self) -> Path:
        """The folder of the server."""
        ...

    async def info(self) -> ServerInfo: ...

    async def agent(self, name: str, workspace: Path) -> AgentSpec:
        """The named agent, or the default for an empty name. Raises AgentNotFound."""
        ...

    async def agent_of(self, summary: SessionSummary) -> AgentSpec:
        """The agent of a session from the log."""
        ...

    async def agents(self, workspace: Path) -> Sequence[AgentInfo]: ...

    async def scenarios(self, workspace: Path) -> ScenarioList: ...

    async def providers(self, workspace: Path) -> ProviderList:
        """All providers, ready or not. None is contacted."""
        ...

    async def models(self, workspace: Path) -> Sequence[ModelInfo]:
        """Models that can be used without an agent. No provider is contacted."""
        ...

    def complete(
        self, workspace: Path, request: pb.CompleteModelRequest
    ) -> AsyncGenerator[pb.CompleteModelResponse]:
        """Stream the answer of a model, within the budgets. Closing it ends the request."""
        ...

    async def mode(self, workspace: Path) -> ReviewMode:
        """The review mode of a new session."""
        ...

    async def find_files(self, workspace: Path, query: str, limit: int) -> Sequence[FoundFile]:
        """Files that match a query, best first."""
        ...

    async def prompts(self, workspace: Path) -> Sequence[PromptInfo]:
        """Prompts by name, without those that are shadowed."""
        ...

    async def prompt(self, workspace: Path, name: str) -> Sequence[str | PromptBlank]:
        """The parts of a prompt, with defaults filled in. Raises InvalidInput if it cannot be used."""
        ...

    async def settings(self, workspace: Path) -> SettingList: ...

    async def change_settings(self, changes: Sequence[tuple[str, str]]) -> None:
        """Set the user's settings by name and JSON; an empty value removes one. Raises InvalidInput."""
        ...

    def approvals(self) -> Sequence[ApprovalView]: ...

    def revoke_approval(self, approval_id: str) -> None: ...

    async def keep_secret(self, name: str, value: str) -> Literal["keyring", "memory"]:
        """Store a secret for agents, or remove it if empty; returns where it is stored."""
        ...
