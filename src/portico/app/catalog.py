"""Catalog of this machine: agents, models, prompts, scenarios, files, settings, approvals and secrets."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from portico import __version__
from portico.agents.registry import AgentRegistry
from portico.api.v1 import agent_pb as pb
from portico.app.host import python_program
from portico.conductor.permissions.approvals import Approval, FileApprovals
from portico.config.paths import config_folder, state_folder
from portico.config.secrets import Secrets, SecretStorage, system_keyring
from portico.config.setting_descriptions import SettingDescription, describe_settings
from portico.config.settings import AGENT_VARIABLE, Settings, load_settings
from portico.config.settings_editor import change_user_settings
from portico.config.window_settings import WindowSettings, chosen_variables, parse_window_settings
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
from portico.domain.reviews import ReviewMode
from portico.domain.secret_files import is_private
from portico.domain.session_summary import SessionSummary
from portico.doors.api.catalog import ServerInfo
from portico.doors.api.window_header import window_header
from portico.doors.path_search import PathMatch, best_matches, with_folders
from portico.files.deadline import within_deadline
from portico.sessions.ports import AgentSpec

if TYPE_CHECKING:
    from portico.app.prompt_catalog import WorkspacePrompts
    from portico.app.served_prompt_run import ServedPromptRun
    from portico.prompts.catalog import CatalogEntry, PromptCache

_FRESH_SECONDS = 3.0
"""Seconds for which a list of files is reused while a person types after an @."""


class LocalCatalog:
    """Implements `doors.api.catalog.Catalog` on this machine."""

    def __init__(
        self, environ: Mapping[str, str], *, workspace: Path, agent: str | None, page_build: Callable[[], str]
    ) -> None:
        self._environ = environ
        self.workspace = workspace
        self._agent = agent
        self._page_build = page_build
        self._started_at = time.time_ns() // 1_000_000
        self._approvals = FileApprovals(
            state_folder(environ) / "approvals.json", lambda: time.time_ns() // 1_000_000
        )
        self._secrets = Secrets(state_folder(environ) / "secrets.json", system_keyring())
        self._removed: set[str] = set()
        self._prompt_cache: PromptCache | None = None
        self._prompt_list: tuple[list[CatalogEntry], dict[str, str], list[PromptEntry]] | None = None
        self._files: dict[Path, tuple[float, list[str]]] = {}

    async def info(self) -> ServerInfo:
        settings = await self._settings_of(self.workspace)
        return ServerInfo(
            version=__version__,
            page_build=self._page_build(),
            started_at=self._started_at,
            workspace=str(self.workspace),
            default_agent=self._default(settings),
            home=self._environ.get("HOME", ""),
        )

    async def agent(self, name: str, workspace: Path) -> AgentSpec:
        settings = await self._settings_of(workspace)
        spec = self._registry(settings).resolve(name or self._default(settings))
        return self._with_secrets(self._with_window(spec, settings))

    async def agent_of(self, summary: SessionSummary) -> AgentSpec:
        settings = await self._settings_of(Path(summary.workspace))
        spec = self._registry(settings).resume(summary.agent, summary.agent_command)
        return self._with_secrets(self._with_window(spec, settings))

    def chosen_components(self) -> SessionComponents:
        switched = self._window().user.components.items()
        return SessionComponents(
            on=tuple(name for name, on in switched if on), off=tuple(name for name, on in switched if not on)
        )

    async def agents(self, workspace: Path) -> Sequence[AgentEntry]:
        settings = await self._settings_of(workspace)
        registry = self._registry(settings)
        return [registry.describe(name, self._default(settings)) for name in registry.names()]

    async def scenarios(self, workspace: Path) -> tuple[Sequence[ListedScenario], Sequence[str]]:
        def load() -> tuple[Sequence[ListedScenario], Sequence[str]]:
            from portico.app.porter_setup import read_setup
            from portico.porter.scenarios.catalog import load_scenarios

            setup = read_setup(workspace, self._environ)
            found = load_scenarios(setup.scenarios, workspace, trusted=setup.trusted)
            entries = [
                ListedScenario(
                    name=one.name,
                    description=one.description,
                    model=one.model or "",
                    is_default=one is found.default,
                )
                for one in found.by_name.values()
            ]
            return entries, list(map(str, found.problems))

        return await within_deadline(load)

    async def providers(self, workspace: Path) -> tuple[Sequence[ProviderEntry], str]:
        # Late: it loads all providers, and is seldom called.
        from portico.app.provider_catalog import list_providers

        settings, environ = await self._model_environ(workspace)
        return await within_deadline(lambda: list_providers(settings, environ))

    async def check_provider(self, workspace: Path, request: pb.CheckProviderRequest) -> ProviderCheck:
        from portico.app.provider_check import check_provider

        settings, environ = await self._model_environ(workspace)
        return await asyncio.to_thread(check_provider, request, settings, environ)

    async def find_servers(self) -> Sequence[ModelServerEntry]:
        from portico.porter.models.local_servers import find_servers, usual_servers

        return await asyncio.to_thread(find_servers, usual_servers(self._environ))

    async def models(self, workspace: Path) -> tuple[Sequence[ModelEntry], str]:
        from portico.app.completion import ready_models
        from portico.app.porter_setup import read_setup

        _, environ = await self._model_environ(workspace)
        return await within_deadline(lambda: ready_models(read_setup(workspace, environ)))

    async def complete(
        self, workspace: Path, request: pb.CompleteModelRequest
    ) -> AsyncGenerator[pb.CompleteModelResponse]:
        from portico.app.completion import stream_completion
        from portico.app.porter_setup import read_setup
        from portico.app.provider_check import trial_of

        settings, environ = await self._model_environ(workspace)
        tried, keys = trial_of(request, settings)
        setup = await within_deadline(lambda: read_setup(workspace, {**environ, **keys}, tried))
        async with aclosing(stream_completion(request, setup)) as updates:
            async for update in updates:
                yield update

    async def pull(self, name: str) -> AsyncGenerator[pb.PullModelResponse]:
        from portico.app.model_download import stream_download

        async with aclosing(stream_download(name, self._environ)) as updates:
            async for update in updates:
                yield update

    async def mode(self, workspace: Path) -> ReviewMode:
        return (await self._settings_of(workspace)).mode

    async def has_mode(self, workspace: Path) -> bool:
        return (await self._settings_of(workspace)).review.mode is not None

    async def find_files(self, workspace: Path, query: str, limit: int) -> Sequence[PathMatch]:
        return best_matches(await self._paths(workspace), query, limit)

    async def files(self, workspace: Path) -> Sequence[str]:
        return [path for path in await self._paths(workspace) if not path.endswith("/")]

    async def suggestions(self, workspace: Path, commands: frozenset[str]) -> Sequence[Suggestion]:
        # Late: it loads git and the readers of project files.
        from portico.app.suggestions import suggest

        return await suggest(workspace, self._environ, commands)

    async def prompts(self, workspace: Path) -> Sequence[PromptEntry]:
        window = self._window()

        def load() -> list[PromptEntry]:
            from portico.app.prompt_catalog import list_prompts, session_values

            prompts = self._prompts(workspace, window)
            found, session = prompts.catalog.entries(), session_values(prompts)
            kept = self._prompt_list
            if kept is None or kept[0] is not found or kept[1] != session:
                kept = self._prompt_list = (found, session, list_prompts(found, session))
            return kept[2]

        return await within_deadline(load)

    async def prompt(self, workspace: Path, name: str) -> Sequence[str | PromptBlank]:
        window = self._window()

        def load() -> list[str | PromptBlank]:
            _, prompt = self._prompts(workspace, window).catalog.find(name)
            return [
                one if isinstance(one, str) else PromptBlank(name=one.name, description=one.description)
                for one in prompt.open_pieces()
            ]

        return await within_deadline(load)

    async def prepare_run(self, workspace: Path, request: pb.RunPromptRequest) -> "ServedPromptRun":
        # Late: it loads a YAML parser, and most servers run no prompts.
        from portico.app.served_prompt_run import ServedPromptRun

        spec, window = await self.agent(request.agent, workspace), self._window()
        _, environ = await self._model_environ(workspace)
        return await within_deadline(
            lambda: ServedPromptRun(self._prompts(workspace, window), request, spec, environ)
        )

    async def save_variables(self, workspace: Path, values: Mapping[str, str]) -> Path:
        from portico.app.prompt_catalog import save_session_values

        window = self._window()
        return await within_deadline(lambda: save_session_values(self._prompts(workspace, window), values))

    async def settings(self, workspace: Path) -> tuple[Sequence[SettingDescription], Sequence[str]]:
        window = self._window()

        def load() -> tuple[Sequence[SettingDescription], Sequence[str]]:
            described = describe_settings(config_folder(self._environ), workspace, self._environ, window)
            return described, self._settings(workspace, window).problems

        return await within_deadline(load)

    async def change_settings(self, changes: Sequence[tuple[str, str]]) -> None:
        await within_deadline(lambda: change_user_settings(config_folder(self._environ), changes))

    async def skills(self, workspace: Path) -> Sequence[SkillEntry]:
        # Late, here and below: it loads readers of lock files, and is seldom called.
        from portico.app.skill_list import list_skills

        return await within_deadline(lambda: list_skills(workspace, self._environ))

    async def allow_skill(self, workspace: Path, skill_id: str, fingerprint: str) -> None:
        from portico.app.skill_list import allow_skill

        await within_deadline(lambda: allow_skill(workspace, self._environ, skill_id, fingerprint))

    async def deny_skill(self, workspace: Path, skill_id: str) -> None:
        from portico.app.skill_list import deny_skill

        await within_deadline(lambda: deny_skill(workspace, self._environ, skill_id))

    def approvals(self) -> Sequence[Approval]:
        return self._approvals.list()

    def revoke_approval(self, approval_id: str) -> None:
        self._approvals.revoke(approval_id)

    async def keep_secret(self, name: str, value: str) -> SecretStorage:
        keeper = self._secrets.keep(name, value)
        # The environment of the server may have it too, and cannot be changed.
        (self._removed.discard if value else self._removed.add)(name)
        return keeper

    def _prompts(self, workspace: Path, window: WindowSettings) -> "WorkspacePrompts":
        # Late: it loads a YAML parser, and most servers list no prompts.
        from portico.app.prompt_catalog import open_prompts
        from portico.prompts.catalog import PromptCache

        if self._prompt_cache is None:
            self._prompt_cache = PromptCache()
        return open_prompts(workspace, self._environ, self._prompt_cache, window)

    def _window(self) -> WindowSettings:
        """The settings of the calling window."""
        return parse_window_settings(window_header())

    async def _settings_of(self, workspace: Path) -> Settings:
        window = self._window()
        return await within_deadline(lambda: self._settings(workspace, window))

    def _settings(self, workspace: Path, window: WindowSettings) -> Settings:
        return load_settings(config_folder(self._environ), workspace, window)

    def _registry(self, settings: Settings) -> AgentRegistry:
        return AgentRegistry(python=python_program(), environ=self._environ, custom=settings.agents)

    def _default(self, settings: Settings) -> str:
        return self._agent or self._environ.get(AGENT_VARIABLE) or settings.agent

    def _with_window(self, spec: AgentSpec, settings: Settings) -> AgentSpec:
        """The agent with what the calling window chooses for it."""
        chosen = chosen_variables(self._window(), settings, self._environ)
        return msgspec.structs.replace(spec, env={**spec.env, **chosen}) if chosen else spec

    async def _model_environ(self, workspace: Path) -> tuple[Settings, dict[str, str]]:
        """The settings, and the environment for calls to models: with the secrets and the window's choices."""
        settings = await self._settings_of(workspace)
        chosen = chosen_variables(self._window(), settings, self._environ)
        return settings, {**self._environ, **await within_deadline(self._secret_environ), **chosen}

    def _with_secrets(self, spec: AgentSpec) -> AgentSpec:
        secrets = self._secret_environ()
        return msgspec.structs.replace(spec, env={**secrets, **spec.env}) if secrets else spec

    def _secret_environ(self) -> dict[str, str]:
        """Every secret, and an empty value for each that was removed."""
        return {**dict.fromkeys(self._removed, ""), **self._secrets.environment()}

    async def _paths(self, workspace: Path) -> list[str]:
        at, paths = self._files.get(workspace, (float("-inf"), []))
        if time.monotonic() - at > _FRESH_SECONDS:
            from portico.porter.search.file_list import collect_files

            files = [path.relative_to(workspace) for path in await collect_files(workspace, self._environ)]
            paths = with_folders([path.as_posix() for path in files if not is_private(path.parts)])
            self._files[workspace] = (time.monotonic(), paths)
        return paths
