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
    """What Porter can be told to be; `model` is empty when it asks for none."""

    name: str
    description: str
    model: str = ""
    is_default: bool = False


class ScenarioList(msgspec.Struct, frozen=True, kw_only=True):
    """`problems` are sentences about files that are broken."""

    scenarios: tuple[ScenarioInfo, ...]
    problems: tuple[str, ...] = ()


class ProviderSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Who has models. `key_variable` is empty for one that takes no key; the usual one of `models` comes first."""

    name: str
    title: str
    ready: bool
    detail: str
    key_variable: str = ""
    needs_key: bool = False
    has_key: bool = False
    models: tuple[str, ...] = ()


class ProviderList(msgspec.Struct, frozen=True, kw_only=True):
    """`model` is what holds when nobody names another; empty without any."""

    providers: tuple[ProviderSummary, ...]
    model: str = ""


class ModelInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A model whose provider is ready. `window` is zero when nobody knows it."""

    name: str
    about: str = ""
    is_default: bool = False
    window: int = 0
    tools: bool = True
    images: bool = True


class FoundFile(msgspec.Struct, frozen=True, kw_only=True):
    """A path relative to the workspace, and which of its characters fit the query."""

    path: str
    matched: tuple[int, ...] = ()


class PromptInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt that is kept as a file. `problem` is why it cannot be used, if it cannot."""

    name: str
    description: str
    origin: Literal["workspace", "user"]
    problem: str = ""


class PromptBlank(msgspec.Struct, frozen=True, kw_only=True):
    """Where the person has to say something."""

    name: str
    description: str = ""


class SettingView(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    value_json: str
    source: str
    description: str


class SettingList(msgspec.Struct, frozen=True, kw_only=True):
    """What holds in a folder. `problems` are sentences about what is broken in its own settings."""

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
        """The named agent, or the default for an empty name. AgentNotFound when nobody has the name."""
        ...

    async def agent_of(self, summary: SessionSummary) -> AgentSpec:
        """The agent that a session from the log goes on with."""
        ...

    async def agents(self, workspace: Path) -> Sequence[AgentInfo]: ...

    async def scenarios(self, workspace: Path) -> ScenarioList: ...

    async def providers(self, workspace: Path) -> ProviderList:
        """Everybody who has models, ready or not; nobody is asked for it."""
        ...

    async def models(self, workspace: Path) -> Sequence[ModelInfo]:
        """What can be talked to without an agent; nobody is asked for it."""
        ...

    def complete(
        self, workspace: Path, request: pb.CompleteModelRequest
    ) -> AsyncGenerator[pb.CompleteModelResponse]:
        """The answer of a bare model, within the budgets. Closing it ends the request."""
        ...

    async def mode(self, workspace: Path) -> ReviewMode:
        """How the changes of a new session reach the files, unless the caller says."""
        ...

    async def find_files(self, workspace: Path, query: str, limit: int) -> Sequence[FoundFile]:
        """Files that fit a few letters, best first; all that are likely meant for an empty query."""
        ...

    async def prompts(self, workspace: Path) -> Sequence[PromptInfo]:
        """The prompts that are kept as files, by name, without those that a namesake hides."""
        ...

    async def prompt(self, workspace: Path, name: str) -> Sequence[str | PromptBlank]:
        """One of them in pieces, its defaults in their places. InvalidInput if it cannot be used."""
        ...

    async def settings(self, workspace: Path) -> SettingList: ...

    async def change_settings(self, changes: Sequence[tuple[str, str]]) -> None:
        """Set the user's own settings by name and JSON; an empty value takes it away. InvalidInput if wrong."""
        ...

    def approvals(self) -> Sequence[ApprovalView]: ...

    def revoke_approval(self, approval_id: str) -> None: ...

    async def keep_secret(self, name: str, value: str) -> Literal["keyring", "memory"]:
        """Keep a secret for agents, or take it away when empty; where it is kept."""
        ...
