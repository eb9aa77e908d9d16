"""`portico acp --connect`: the chain of a server as an agent on standard input and output."""

from portico.conformance.agent_trial import PROMPT_NAMES
from tests.support.program import PROGRAM, Portico
from tests.support.serving import Server, detach

FAMILIES = (
    "ACP-INIT",
    "ACP-JSONRPC",
    "ACP-SESSION",
    "ACP-PROMPT-001",
    "ACP-LOAD",
    "ACP-SHUTDOWN",
    "PORTICO-FRAMES",
    "PORTICO-BACKPRESSURE",
    "PORTICO-ORDER",
)


def test_a_chain_of_the_server_keeps_the_rules_of_an_agent(portico: Portico, server: Server) -> None:
    # The kit sends what no client may send, and the chain passes it on, so the server is untapped.
    detach(portico, environ={"PORTICO_TAP": ""})
    chosen = [word for name in FAMILIES for word in ("--case", name)]
    prompts = [word for name in PROMPT_NAMES for word in ("--prompt", f"{name}=/help")]
    patience = ("--timeout", "100", "--start-timeout", "100")
    url = f"ws://127.0.0.1:{server.port}/acp"
    done = portico.run(
        "conformance", "agent", "--api", *patience, *chosen, *prompts,
        "--", str(PROGRAM), "acp", "--connect", url,
        environ={"PORTICO_TAP": ""}, seconds=110,
    )  # fmt: skip
    refused = {
        case["id"]: case["reason"] for case in done.api["cases"] if case["status"] in ("failed", "blocked")
    }
    assert refused == {}
    assert done.code == 0


def test_what_cannot_be_connected_is_explained(portico: Portico, server: Server) -> None:
    assert "is not an address" in portico.run("acp", "--connect", "nowhere").err
    assert "is not an address" in portico.run("acp", "--connect", "ws://127.0.0.1:many/acp").err
    gone = portico.run("acp", "--connect", "ws://127.0.0.1:1/acp")
    assert "Cannot connect to ws://127.0.0.1:1/acp" in gone.err
    assert gone.code != 0
    detach(portico)
    url = f"ws://127.0.0.1:{server.port}/acp"
    refused = portico.run("acp", "--connect", url, environ={"PORTICO_TOKEN": "wrong"})
    assert "refuses the token" in refused.err
    assert "PORTICO_TOKEN" in refused.err
