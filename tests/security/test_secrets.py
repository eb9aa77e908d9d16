"""Secrets that an agent could come by: in files with telling names, and in its environment."""

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from portico.acp import _schema as acp
from portico.agents.process import LocalAgentLauncher, agent_environ
from portico.agents.registry import AgentRegistry
from portico.config.settings import AgentSetting
from portico.domain.errors import PermissionDenied
from portico.domain.provider_keys import is_provider_key
from portico.domain.secret_files import is_private
from portico.editors.files import LocalFiles
from portico.editors.terminals import HostTerminals
from portico.porter.mcp_program import open_program
from portico.porter.mcp_requests import ServerRequests
from portico.sessions.ports import AgentSpec, TerminalRequest
from tests.support.waiting import wait_until

SECRETS = [
    ".env",
    ".env.local",
    ".env.production",
    "prod.env",
    "config/staging.env",
    ".envrc",
    ".envrc.local",
    ".env~",
    ".env.bak",
    ".env.swp",
    "#.env#",
    ".#.env",
    "prod.env.bak",
    ".prod.env.swp",
    "PROD.ENV",
    "prod.env.local",
    "credentials.json",
    "credentials.json~",
    "credentials.yml",
    "credentials.toml",
    "app-credentials.json",
    ".credentials.json.swp",
    "service-account.json",
    "service_account_prod.json",
    "serviceAccountKey.json",
    "x-firebase-adminsdk-1.json",
    "client_secret_1.json",
    "terraform.tfstate",
    "terraform.tfstate.backup",
    "prod.tfstate",
    ".terraformrc",
    "credentials.tfrc.json",
    ".vault_pass",
    ".vault_pass.txt",
    ".vault-token",
    "vault_pass.txt",
    "secrets.yml",
    "secrets.json",
    ".secrets",
    ".streamlit/secrets.toml",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".htpasswd",
    ".git-credentials",
    ".dockercfg",
    ".s3cfg",
    ".boto",
    "id_rsa",
    "id_ed25519",
    "id_ecdsa_sk",
    "id_rsa.old",
    ".id_rsa.swp",
    "server.pem",
    "server.pem.orig",
    "key.p12",
    "key.p8",
    "app.keystore",
    "vpn.ovpn",
    ".kube/config",
    ".kube/config.bak",
    "kubeconfig",
    "prod.kubeconfig",
    ".docker/config.json",
    ".aws/credentials",
    ".aws/credentials~",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".cargo/credentials.toml",
    ".ssh/known_hosts",
    ".oci/config",
]
ORDINARY = [
    "env.py",
    "credentials.py",
    "environment.ts",
    "environment.prod.ts",
    "dotenv.js",
    "env.d.ts",
    "vite-env.d.ts",
    ".env.example",
    ".env.sample",
    ".env.template",
    ".env.dist",
    "example.env",
    ".env.local.example",
    "env",
    "src/env/index.ts",
    "secrets.py",
    "secret_santa.py",
    "keys.py",
    "key.ts",
    "service-account.ts",
    "service_account.py",
    "terraform.tf",
    "main.tf",
    "state.tf",
    "vault.py",
    "netrc.py",
    "npmrc.md",
    "idx.py",
    "id_map.py",
    "config.json",
    "config",
    ".github/workflows/ci.yml",
    "docker/config.json",
    "settings.xml",
    "gradle.properties",
    "token.py",
    "tokens.css",
    "notes.old",
    "main.py~",
    "README.md.bak",
    "package.json",
    ".gitignore",
    ".git/config",
    ".editorconfig",
    ".dockerignore",
    "pem.py",
]


@pytest.mark.parametrize("path", SECRETS)
def test_a_file_of_secrets_is_known_by_its_name(path: str) -> None:
    assert is_private(path.split("/"))


@pytest.mark.parametrize("path", ORDINARY)
def test_an_ordinary_file_is_not_taken_for_one(path: str) -> None:
    assert not is_private(path.split("/"))


@pytest.mark.parametrize(
    "line",
    [
        "url = https://me:ghp_secret@github.com/a/b",
        "extraheader = AUTHORIZATION: basic eDpnaHA=",
        "\tpassword = hunter2",
    ],
)
@pytest.mark.parametrize("name", [".git/config", ".git/modules/a/config", ".gitconfig", "link"])
async def test_the_configuration_of_git_is_not_read_with_a_credential_in_it(
    tmp_path: Path, name: str, line: str
) -> None:
    (tmp_path / "link").symlink_to(".git/config")
    path = tmp_path / name
    path.resolve().parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"[remote]\n{line}\n")
    with pytest.raises(PermissionDenied, match="password or token"):
        await LocalFiles(tmp_path).read_text(name)


async def test_without_a_credential_it_is(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    text = "[remote]\nurl = https://github.com/a/b\nurl = git@github.com:a/b.git\n"
    (tmp_path / ".git" / "config").write_text(text)
    assert await LocalFiles(tmp_path).read_text(".git/config") == text
    (tmp_path / "config").write_text("url = https://me:x@example.org")
    assert await LocalFiles(tmp_path).read_text("config")


KEYS = dict.fromkeys(("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "OPENAI_API_KEY", "CODEX_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "MISTRAL_API_KEY", "GROQ_API_KEY", "OPENROUTER_API_KEY", "XAI_API_KEY", "AZURE_OPENAI_API_KEY", "AWS_BEARER_TOKEN_BEDROCK", "HF_TOKEN", "DASHSCOPE_API_KEY", "DEEPSEEK_API_KEY"), "secret")  # fmt: skip
PLAIN = {
    "PATH": "/bin",
    "HOME": "/h",
    "GITHUB_TOKEN": "t",
    "STRIPE_API_KEY": "s",
    "ANTHROPIC_BASE_URL": "http://x",
}


def given(name: str, custom: dict[str, AgentSetting] | None = None) -> set[str]:
    registry = AgentRegistry(python=sys.executable, environ={}, custom=custom)
    environ = agent_environ({**KEYS, **PLAIN}, registry.resolve(name))
    assert environ.items() >= PLAIN.items()
    return {key for key in environ if is_provider_key(key)}


def test_an_agent_gets_the_keys_that_it_needs_and_no_others() -> None:
    assert given("claude") >= {"ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"}
    assert not given("claude") & {"OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY"}
    assert given("codex") == {"OPENAI_API_KEY", "CODEX_API_KEY"}
    assert given("gemini") == {"GEMINI_API_KEY", "GOOGLE_API_KEY"}
    assert given("copilot") == set()
    assert given("porter") == given("opencode") == given("goose") == set(KEYS)


def test_an_agent_of_the_settings_gets_the_keys_that_its_entry_names() -> None:
    command = "/opt/my-agent"
    assert given("mine", {"mine": AgentSetting(command=command)}) == set()
    assert given("mine", {"mine": AgentSetting(command=command, keys=("XAI_API_KEY",))}) == {"XAI_API_KEY"}
    env = {"OPENAI_API_KEY": "another"}
    assert given("mine", {"mine": AgentSetting(command=command, env=env)}) == {"OPENAI_API_KEY"}
    npx = AgentSetting(command="npx", args=("@agentclientprotocol/codex-acp@1.2",))
    assert given("mine", {"mine": npx}) == {"OPENAI_API_KEY", "CODEX_API_KEY"}


@pytest.mark.parametrize(
    ("line", "keys"),
    [
        ("my-agent --acp", set()),
        ("/opt/bin/gemini --acp", {"GEMINI_API_KEY", "GOOGLE_API_KEY"}),
        ("npx --yes @google/gemini-cli --acp", {"GEMINI_API_KEY", "GOOGLE_API_KEY"}),
        ("npx evil-gemini", set()),
    ],
)
def test_an_agent_that_is_given_by_its_command_gets_those_of_its_program(line: str, keys: set[str]) -> None:
    registry = AgentRegistry(python=sys.executable, environ={})
    for spec in (registry.parse_command(line), registry.resume("x", registry.parse_command(line).command)):
        assert {key for key in agent_environ(KEYS, spec) if is_provider_key(key)} == keys


async def test_what_is_started_has_no_other_keys(tmp_path: Path) -> None:
    environ = {**os.environ, **KEYS}
    code = "import json, os; print(json.dumps(list(os.environ)), flush=True)"
    spec = AgentSpec(name="x", command=(sys.executable, "-c", code), keys=("XAI_API_KEY",))
    agent = await LocalAgentLauncher(environ).launch(spec, tmp_path)
    try:
        async with asyncio.timeout(60):
            told = b""
            while not told.endswith(b"]\n"):
                told += await agent.stream.read()
    finally:
        await agent.stop(grace=1)
    assert {name for name in json.loads(told) if is_provider_key(name)} == {"XAI_API_KEY"}


async def test_the_mcp_servers_of_porter_have_none(tmp_path: Path) -> None:
    told = tmp_path / "names"
    code = f"import os, pathlib; pathlib.Path({str(told)!r}).write_text(' '.join(os.environ))"
    own = [acp.EnvVariable(name="GROQ_API_KEY", value="its own")]
    server = acp.McpServer(name="x", command=sys.executable, args=["-c", code], env=own)
    pipes = await open_program(
        server, tmp_path, {**os.environ, **KEYS}, ServerRequests([tmp_path], can_ask=False)
    )
    try:
        await asyncio.to_thread(wait_until, lambda: told.exists() and "PATH" in told.read_text(), "its start")
    finally:
        await pipes.close()
    assert {name for name in told.read_text().split() if is_provider_key(name)} == {"GROQ_API_KEY"}


async def test_the_commands_of_an_agent_have_none(tmp_path: Path) -> None:
    terminals = HostTerminals(tmp_path, {**os.environ, **KEYS})
    request = TerminalRequest(command="env", env={"OPENAI_API_KEY": "its own"})
    async with asyncio.timeout(60):
        ended = await terminals.wait(await terminals.create(request, lambda _: None))
    names = {line.partition("=")[0] for line in ended.output.splitlines()}
    assert {name for name in names if is_provider_key(name)} == {"OPENAI_API_KEY"}
    await terminals.close()
