"""MCP servers of the settings, as agents receive them when a session opens."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from portico.acp import _schema as acp
from portico.acp.extensions import ServerMeta, to_meta
from portico.config.mcp_settings import McpServerSetting, substitute_variables
from portico.config.paths import config_folder, state_folder
from portico.config.secrets import Secrets, system_keyring
from portico.config.settings import load_settings
from portico.domain.errors import PorticoError
from portico.sessions.ports import ConfiguredMcpServers

_TRUSTED = to_meta(ServerMeta(trusted=True))
"""The settings are the user's, or those of a workspace that the user trusts."""


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
