"""The setting `mcpServers`: commands or URLs, and the variables they need."""

import re
from collections.abc import Callable

import msgspec

from portico.domain.errors import InvalidInput

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")

FindVariable = Callable[[str], str | None]


class McpServerSetting(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """An MCP server. In values of `env` and `headers`, `${NAME}` is replaced by a variable or a stored secret."""

    command: str | None = None
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    url: str | None = None
    headers: dict[str, str] = {}
    disabled: bool = False

    def check(self, name: str) -> None:
        """Raise InvalidInput unless it has either a command or a URL."""
        if (self.command is None) == (self.url is None):
            raise InvalidInput(
                f"mcpServers.{name} needs either a command or a url.",
                suggestion='For example: {"command": "my-server", "args": []} or {"url": "https://…"}',
            )
        if self.url is not None and not self.url.startswith(("http://", "https://")):
            raise InvalidInput(
                f"mcpServers.{name}: {self.url} is not a web address.",
                suggestion="It must begin with http:// or https://",
            )


def substitute_variables(values: dict[str, str], find: FindVariable, where: str) -> dict[str, str]:
    """Return the values with variables replaced. Raises InvalidInput for an unknown variable."""

    def value_of(found: re.Match[str]) -> str:
        value = find(found[1])
        if value is None:
            raise InvalidInput(
                f"{where} needs {found[1]}, which is not set.",
                suggestion=f"Set {found[1]} in the environment, or store it as a secret.",
            )
        return value

    return {name: _VARIABLE.sub(value_of, value) for name, value in values.items()}
