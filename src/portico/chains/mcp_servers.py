"""MCP servers of the settings, which every agent receives when a session opens."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Raw

from portico.acp import _schema as acp
from portico.acp.extensions import FailureMeta, ServerMeta, to_meta
from portico.acp.session_id import read_session_id
from portico.acp.session_methods import OPENING_METHODS
from portico.conductor.mcp_bridge.server_list import accepts_mcp_over, read_entry, read_opening
from portico.conductor.proxies.notices import ChainNotices
from portico.conductor.proxy import Proxy
from portico.config.mcp_settings import McpServerSetting, substitute_variables
from portico.config.paths import config_folder, state_folder
from portico.config.settings import load_settings
from portico.domain.errors import PorticoError
from portico.files.deadline import within_deadline
from portico.mcp.protocol import raw
from portico.rpc.messages import INTERNAL_ERROR, Message, RpcError

_TRUSTED = to_meta(ServerMeta(trusted=True))
"""The settings are the user's, or those of a workspace that the user trusts."""


class ConfiguredMcpServers(msgspec.Struct, frozen=True):
    """MCP servers for the agents of a workspace, and problems of those that are left out."""

    servers: tuple[acp.McpServer, ...] = ()
    problems: tuple[str, ...] = ()


class ConfiguredServers(Proxy):
    """Adds the servers of the settings to each session that is opened, as they stand then.

    Stands on the client's side of the path translation, which places them in a working copy. A server of the client's
    that has the same name goes before.
    """

    name = "mcp-servers"
    client_methods = OPENING_METHODS | {"initialize"}

    def __init__(self, environ: Mapping[str, str], notices: ChainNotices) -> None:
        super().__init__()
        self._environ = environ
        self._notices = notices
        self._agent_takes_http = False

    def from_client(self, message: Message) -> None:
        if message.method == "initialize":
            self.forward_right(message, self._met)
        elif message.is_request:
            self.node.spawn(self._open(message), "adding MCP servers")

    def _met(self, answer: Message) -> None:
        if isinstance(answer.result, Raw):
            self._agent_takes_http = accepts_mcp_over("http", answer.result)
        self.node.send_left(answer)

    async def _open(self, message: Message) -> None:
        opening = read_opening(message.params)
        if opening is None:
            self.node.send_right(message)
            return
        workspace = Path(opening.placed.workspace or opening.cwd)
        try:
            configured = await within_deadline(lambda: configured_servers(workspace, self._environ))
        except PorticoError as error:
            told = FailureMeta(code=error.code, suggestion=error.suggestion)
            self.refuse_client(message, RpcError(INTERNAL_ERROR, error.message, to_meta(told)))
            return
        taken = {read_entry(entry).name for entry in opening.servers}
        wanted = [one for one in configured.servers if one.name not in taken]
        problems = [
            *configured.problems,
            *(
                f"The MCP server {one.name} is left out: the agent does not support MCP over HTTP."
                for one in wanted
                if not self._is_usable(one)
            ),
        ]
        added = [raw(one) for one in wanted if self._is_usable(one)]
        if added:
            message = message.with_params(opening.with_servers([*opening.servers, *added]))

        def opened(answer: Message) -> None:
            if isinstance(answer.result, Raw):
                session_id = read_session_id(answer.result) or opening.session_id
                self._notices.tell_session(session_id, problems)
            self.node.send_left(answer)

        self.forward_right(message, opened)

    def _is_usable(self, server: acp.McpServer) -> bool:
        return server.url is None or self._agent_takes_http


def configured_servers(workspace: Path, environ: Mapping[str, str]) -> ConfiguredMcpServers:
    """The servers of a workspace, with what is wrong with its settings and why a server is left out."""
    servers: list[acp.McpServer] = []
    settings = load_settings(config_folder(environ), workspace)
    problems = list(settings.problems)
    for name, setting in settings.mcp_servers.items():
        if setting.disabled:
            continue
        try:
            servers.append(_server(name, setting, environ))
        except PorticoError as error:
            problems.append(
                f"The MCP server {name} is left out. {error.message} {error.suggestion or ''}".strip()
            )
    return ConfiguredMcpServers(tuple(servers), tuple(problems))


def _server(name: str, setting: McpServerSetting, environ: Mapping[str, str]) -> acp.McpServer:
    setting.check(name)

    def find(variable: str) -> str | None:
        if value := environ.get(variable):
            return value
        # Late: few servers need secrets, and the keyring takes a while to load.
        from portico.config.secrets import Secrets, system_keyring

        names_file = state_folder(environ) / "secrets.json"
        if variable not in Secrets(names_file, None).names():
            return None
        return Secrets(names_file, system_keyring()).value(variable)

    if setting.url is not None:
        headers = substitute_variables(setting.headers, find, f"mcpServers.{name}.headers")
        return acp.McpServer(
            type="http",
            name=name,
            url=setting.url,
            meta=_TRUSTED,
            headers=[acp.HttpHeader(name=key, value=value) for key, value in headers.items()],
        )
    command = setting.command or ""
    env = substitute_variables(setting.env, find, f"mcpServers.{name}.env")
    return acp.McpServer(
        name=name,
        command=shutil.which(command, path=environ.get("PATH")) or command,
        meta=_TRUSTED,
        args=list(setting.args),
        env=[acp.EnvVariable(name=key, value=value) for key, value in env.items()],
    )
