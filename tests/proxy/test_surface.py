"""The public names of `portico.proxy`."""

import pytest

import portico.proxy

NAMES = {
    "ChainSession",
    "McpImage",
    "McpProxy",
    "McpText",
    "Message",
    "Proxy",
    "RpcError",
    "Tool",
    "ToolCall",
    "ToolFailure",
    "ToolResult",
    "ToolServer",
    "run",
    "schema_of",
    "serve",
}


def test_the_public_names_are_these() -> None:
    assert set(portico.proxy.__all__) == NAMES
    assert {name for name in vars(portico.proxy) if name in NAMES} == NAMES


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_public_name_is_documented(name: str) -> None:
    assert (getattr(portico.proxy, name).__doc__ or "").strip()
