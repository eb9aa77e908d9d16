"""Risks of an action that a person should see before allowing it: files outside the workspace, and the network."""

from collections.abc import Iterator

from portico.conductor.permissions.action import RequestedAction
from portico.conductor.permissions.shell_commands import parse_shell_commands, program_name
from portico.domain.values import PermissionRisk


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NETWORK_PROGRAMS = _names(
    "curl wget ssh scp sftp rsync ftp telnet nc ncat ping dig nslookup npx uvx bunx gh glab aws gcloud az kubectl"
)
_NETWORK_COMMANDS = {
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), _names("install i add ci update publish audit dlx")),
    **dict.fromkeys(
        ("pip", "pip3", "uv", "poetry", "pipx"), _names("install add sync download publish lock")
    ),
    **dict.fromkeys(("docker", "podman"), _names("pull push run build login")),
    **dict.fromkeys(("apt", "apt-get", "brew", "dnf", "apk"), _names("install update upgrade add")),
    "git": _names("clone fetch pull push ls-remote submodule"),
    "cargo": _names("install add update publish fetch"),
    "go": _names("get install mod"),
}
_ELSEWHERE = ("~", "../")


def risks_of(action: RequestedAction) -> tuple[PermissionRisk, ...]:
    """Known risks of an action. A command may do more than it says."""
    commands = list(_commands(action))
    found: list[PermissionRisk] = []
    if action.elsewhere or any(_is_outside(name, action) for name in (*action.paths, *_arguments(commands))):
        found.append("outside_workspace")
    if action.kind == "fetch" or action.addresses or any(map(_uses_network, commands)):
        found.append("network")
    return tuple(found)


def _commands(action: RequestedAction) -> Iterator[list[str]]:
    for command in action.commands:
        for words in parse_shell_commands(command.text).commands:
            yield [program_name(words[0].text), *(word.text for word in words[1:])]


def _arguments(commands: list[list[str]]) -> Iterator[str]:
    for _, *words in commands:
        yield from words


def _is_outside(name: str, action: RequestedAction) -> bool:
    if "://" in name or name.startswith("/dev/"):
        return False
    if name.startswith(_ELSEWHERE) or name == "..":
        return True
    root = action.workspace.rstrip("/")
    return action.is_rooted(name) and name != root and not name.startswith(f"{root}/")


def _uses_network(words: list[str]) -> bool:
    program, *arguments = words
    known = _NETWORK_COMMANDS.get(program, frozenset())
    return (
        program in _NETWORK_PROGRAMS
        or any("://" in word for word in arguments)
        or any(word in known for word in arguments[:2])
    )
