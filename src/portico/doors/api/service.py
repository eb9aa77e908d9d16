"""Implementation of AgentService, and the ASGI application that serves it."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import cast

from connectrpc.codec import proto_binary_codec
from connectrpc.interceptor import Interceptor

from portico.api.fields import to_enum, to_time
from portico.api.v1 import agent_pb as pb
from portico.api.v1 import events_pb
from portico.api.v1.agent_service import AgentService, AgentServiceASGIApplication
from portico.conductor.permissions.rule_preview import is_about_files, preview_rule
from portico.config.setting_descriptions import SettingDescription
from portico.domain.catalog import DownloadEntry, SkillEntry
from portico.domain.errors import InvalidInput
from portico.doors.api.board_calls import BoardCalls
from portico.doors.api.error_interceptor import ErrorInterceptor
from portico.doors.api.event_messages import to_payload
from portico.doors.api.json_codec import BoundedJsonCodec
from portico.doors.api.session_calls import Context
from portico.doors.api.session_messages import page_size, require_session_id
from portico.doors.api.streams import merge_streams
from portico.doors.api.window_header import with_window_header
from portico.doors.http.asgi import ASGIApp
from portico.sessions.log.decisions import RecordedDecision, list_decisions

FOUND_FILES = 50
PREVIEWED_FILES = 5
DECISIONS_PAGE = 100
MAX_REQUEST_BYTES = 48 * 1024 * 1024
"""Fits a prompt with the largest attachments; a larger request is refused."""


class ApiService(BoardCalls):
    """AgentService of this host."""

    async def get_server_info(
        self, request: pb.GetServerInfoRequest, _: Context, /
    ) -> pb.GetServerInfoResponse:
        info = await self._catalog.info()
        return pb.GetServerInfoResponse(
            version=info.version,
            page_build=info.page_build,
            started_at=to_time(info.started_at),
            workspace=info.workspace,
            default_agent=info.default_agent,
            home=info.home,
        )

    async def list_agents(self, request: pb.ListAgentsRequest, _: Context, /) -> pb.ListAgentsResponse:
        return pb.ListAgentsResponse(
            agents=[
                pb.Agent(
                    name=one.name,
                    title=one.name.capitalize(),
                    installed=one.installed,
                    install_hint=" ".join(filter(None, (one.problem, one.hint))),
                    is_default=one.default,
                )
                for one in await self._catalog.agents(await self._folder(request.workspace))
            ]
        )

    async def list_scenarios(
        self, request: pb.ListScenariosRequest, _: Context, /
    ) -> pb.ListScenariosResponse:
        scenarios, problems = await self._catalog.scenarios(await self._folder(request.workspace))
        return pb.ListScenariosResponse(
            scenarios=[
                pb.Scenario(
                    name=one.name, description=one.description, model=one.model, is_default=one.is_default
                )
                for one in scenarios
            ],
            problems=list(problems),
        )

    async def list_providers(
        self, request: pb.ListProvidersRequest, _: Context, /
    ) -> pb.ListProvidersResponse:
        providers, model = await self._catalog.providers(await self._folder(request.workspace))
        return pb.ListProvidersResponse(
            providers=[
                pb.Provider(
                    name=one.name,
                    title=one.title,
                    ready=one.ready,
                    detail=one.detail,
                    key_variable=one.key_variable,
                    needs_key=one.needs_key,
                    has_key=one.has_key,
                    models=list(one.models),
                    downloads=[_download(download) for download in one.downloads],
                )
                for one in providers
            ],
            model=model,
        )

    async def check_provider(
        self, request: pb.CheckProviderRequest, _: Context, /
    ) -> pb.CheckProviderResponse:
        checked = await self._catalog.check_provider(await self._folder(request.workspace), request)
        return pb.CheckProviderResponse(
            verdict=to_enum(pb.KeyVerdict, checked.verdict),
            detail=checked.detail,
            models=list(checked.models),
            provider=checked.provider,
            address=checked.address,
            key_variable=checked.key_variable,
        )

    async def find_model_servers(
        self, request: pb.FindModelServersRequest, _: Context, /
    ) -> pb.FindModelServersResponse:
        return pb.FindModelServersResponse(
            servers=[
                pb.FoundModelServer(
                    title=one.title, server=pb.ModelServer(address=one.address), models=list(one.models)
                )
                for one in await self._catalog.find_servers()
            ]
        )

    async def list_models(self, request: pb.ListModelsRequest, _: Context, /) -> pb.ListModelsResponse:
        models, default = await self._catalog.models(await self._folder(request.workspace))
        return pb.ListModelsResponse(
            models=[
                pb.Model(
                    name=one.name,
                    about=one.about,
                    is_default=one.name == default,
                    window=one.window or 0,
                    tools=one.tools,
                    images=one.images,
                )
                for one in models
            ]
        )

    async def complete_model(
        self, request: pb.CompleteModelRequest, _: Context, /
    ) -> AsyncIterator[pb.CompleteModelResponse]:
        answer = self._catalog.complete(await self._folder(request.workspace), request)
        async with aclosing(merge_streams(answer, closing=self._closing)) as stream:
            async for update in stream:
                if update is not None:
                    yield update

    async def pull_model(
        self, request: pb.PullModelRequest, _: Context, /
    ) -> AsyncIterator[pb.PullModelResponse]:
        async with aclosing(
            merge_streams(self._catalog.pull(request.name), closing=self._closing)
        ) as progress:
            async for update in progress:
                if update is not None:
                    yield update

    async def attach_editor(
        self, request: pb.AttachEditorRequest, _: Context, /
    ) -> AsyncIterator[pb.AttachEditorResponse]:
        async with aclosing(self._editors.attach(request)) as stream:
            async for update in stream:
                yield update

    async def authenticate_agent(
        self, request: pb.AuthenticateAgentRequest, _: Context, /
    ) -> pb.AuthenticateAgentResponse:
        name = require_session_id(request.session_id)
        login = await (await self.turn_queue.open(name)).login()
        await login.authenticate(login.method(request.method_id or None))
        return pb.AuthenticateAgentResponse()

    async def set_secret(self, request: pb.SetSecretRequest, _: Context, /) -> pb.SetSecretResponse:
        if not request.name:
            raise InvalidInput(
                "name is required.", suggestion="Set it to the environment variable of the secret."
            )
        keeper = await self._catalog.keep_secret(request.name, request.value)
        self.turn_queue.mark_agents_outdated()
        return pb.SetSecretResponse(keeper=pb.SecretKeeper[keeper.upper()])

    async def find_files(self, request: pb.FindFilesRequest, _: Context, /) -> pb.FindFilesResponse:
        summary = await self._service.show(require_session_id(request.session_id))
        found = await self._catalog.find_files(
            Path(summary.workspace), request.query, page_size(request.limit, FOUND_FILES)
        )
        return pb.FindFilesResponse(
            files=[pb.FoundFile(path=one.path, matched=list(one.places)) for one in found]
        )

    async def list_suggestions(
        self, request: pb.ListSuggestionsRequest, _: Context, /
    ) -> pb.ListSuggestionsResponse:
        detail = await self._detail(require_session_id(request.session_id))
        workspace = Path(detail.summary.workspace if detail.summary else "")
        commands = frozenset(one.name for one in detail.commands)
        return pb.ListSuggestionsResponse(
            suggestions=[
                pb.Suggestion(title=one.title, detail=one.detail, prompt=one.prompt)
                for one in await self._catalog.suggestions(workspace, commands)
            ]
        )

    async def get_settings(self, request: pb.GetSettingsRequest, _: Context, /) -> pb.GetSettingsResponse:
        settings, problems = await self._catalog.settings(await self._folder(request.workspace))
        return pb.GetSettingsResponse(settings=[_setting(one) for one in settings], problems=list(problems))

    async def set_settings(self, request: pb.SetSettingsRequest, _: Context, /) -> pb.SetSettingsResponse:
        await self._catalog.change_settings([(one.name, one.value_json) for one in request.settings])
        settings, _problems = await self._catalog.settings(await self._folder(""))
        return pb.SetSettingsResponse(settings=[_setting(one) for one in settings])

    async def list_skills(self, request: pb.ListSkillsRequest, _: Context, /) -> pb.ListSkillsResponse:
        found = await self._catalog.skills(await self._folder(request.workspace))
        return pb.ListSkillsResponse(skills=[_skill(one) for one in found])

    async def decide_skill(self, request: pb.DecideSkillRequest, _: Context, /) -> pb.DecideSkillResponse:
        folder = await self._folder(request.workspace)
        if request.allow:
            await self._catalog.allow_skill(folder, request.skill_id, request.fingerprint)
        else:
            await self._catalog.deny_skill(folder, request.skill_id)
        found = await self._catalog.skills(folder)
        return pb.DecideSkillResponse(skills=[_skill(one) for one in found])

    async def list_approvals(
        self, request: pb.ListApprovalsRequest, _: Context, /
    ) -> pb.ListApprovalsResponse:
        return pb.ListApprovalsResponse(
            approvals=[
                pb.Approval(
                    approval_id=one.id,
                    agent=one.agent or "",
                    rule=one.rule,
                    workspace=one.workspace or "",
                    given_at=to_time(one.created_at),
                )
                for one in self._catalog.approvals()
            ]
        )

    async def preview_rule(self, request: pb.PreviewRuleRequest, _: Context, /) -> pb.PreviewRuleResponse:
        view = await self._service.view(require_session_id(request.session_id))
        asked = next((one for one in view.permissions if one.request_id == request.request_id), None)
        if asked is None:
            raise InvalidInput(f"No permission request {request.request_id} is waiting for an answer.")
        workspace = view.summary.workspace
        try:
            files = await self._catalog.files(Path(workspace)) if is_about_files(request.rule) else ()
            preview = preview_rule(
                request.rule, asked, agent=view.summary.agent, workspace=workspace, files=files
            )
        except InvalidInput as error:
            return pb.PreviewRuleResponse(problem=f"{error.message} {error.suggestion}")
        return pb.PreviewRuleResponse(
            covers_request=preview.covers_request,
            files=list(preview.files[:PREVIEWED_FILES]),
            file_count=len(preview.files),
        )

    async def revoke_approval(
        self, request: pb.RevokeApprovalRequest, _: Context, /
    ) -> pb.RevokeApprovalResponse:
        self._catalog.revoke_approval(request.approval_id)
        return pb.RevokeApprovalResponse()

    async def list_decisions(
        self, request: pb.ListDecisionsRequest, _: Context, /
    ) -> pb.ListDecisionsResponse:
        after = require_session_id(request.after_session_id) if request.after_session_id else None
        page = await list_decisions(self._store, after=after, limit=page_size(request.limit, DECISIONS_PAGE))
        return pb.ListDecisionsResponse(
            decisions=[_decision(one) for one in page.decisions],
            next_after_session_id=page.next_after or "",
        )


def _decision(one: RecordedDecision) -> pb.RecordedDecision:
    return pb.RecordedDecision(
        session_id=one.session.session_id,
        session_title=one.session.title,
        agent=one.session.agent,
        workspace=one.session.workspace,
        seq=one.seq,
        at=to_time(one.at),
        request=cast("events_pb.PermissionRequested", to_payload(one.request)),
        resolved=cast("events_pb.PermissionResolved", to_payload(one.resolved)),
    )


def stream_paths() -> frozenset[str]:
    """Paths of the streaming calls of the contract."""
    described = AgentService.desc()
    return frozenset(
        f"/{described.type_name}/{method.name}"
        for method in described.methods
        if method.method_kind == "server_streaming"
    )


def asgi_application(service: ApiService, *interceptors: Interceptor) -> ASGIApp:
    """The service as an ASGI application that speaks Connect, gRPC-Web and gRPC."""
    return with_window_header(
        AgentServiceASGIApplication(
            service,
            interceptors=[ErrorInterceptor(), *interceptors],
            read_max_bytes=MAX_REQUEST_BYTES,
            codecs=[proto_binary_codec(), BoundedJsonCodec()],
        )
    )


def _skill(entry: SkillEntry) -> pb.Skill:
    return pb.Skill(
        skill_id=entry.skill_id,
        name=entry.name,
        source=entry.source,
        state=to_enum(pb.SkillState, entry.state),
        description=entry.description,
        fingerprint=entry.fingerprint,
        problem=entry.problem,
    )


def _download(download: DownloadEntry) -> pb.ModelDownload:
    return pb.ModelDownload(
        name=download.name,
        title=download.title,
        size=download.size,
        license=download.license,
        origin=download.origin,
        abilities=download.abilities,
        done=download.done,
    )


def _setting(setting: SettingDescription) -> pb.Setting:
    return pb.Setting(
        name=setting.name,
        value_json=setting.value_json,
        source=setting.source,
        description=setting.description,
        owner=setting.owner,
    )
