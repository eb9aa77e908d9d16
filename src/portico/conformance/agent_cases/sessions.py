"""Cases about sessions: opening, modes and configuration options."""

import sys
from collections.abc import Sequence

from portico.acp import _schema as schema
from portico.conformance.agent_trial import AgentTrial, read_updates, require
from portico.conformance.case import CaseList, Level, NotAnnounced, NotExercised, Violation

SESSIONS: CaseList[AgentTrial] = CaseList()

_MCP_SERVER = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    version = message.get("params", {}).get("protocolVersion", "2025-06-18")
    results = {
        "initialize": {
            "protocolVersion": version,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "portico-conformance", "version": "1"},
        },
        "tools/list": {"tools": []},
        "ping": {},
    }
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] in results:
        answer["result"] = results[message["method"]]
    else:
        answer["error"] = {"code": -32601, "message": "Method not found"}
    print(json.dumps(answer), flush=True)
"""
"""A program that is an MCP server without tools."""


@SESSIONS.add("ACP-SESSION-001", Level.MANDATORY, "session-setup#creating-a-session")
async def open_session(trial: AgentTrial) -> None:
    """`session/new` with an absolute folder and no MCP servers answers with an id that is not empty."""
    connection = await trial.connect()
    session = await connection.call("session/new", connection.session_request(), schema.NewSessionResponse)
    if not session.session_id:
        raise Violation("The id of the session is empty.")


@SESSIONS.add("ACP-SESSION-002", Level.MANDATORY, "session-setup#session-id")
async def use_unique_ids(trial: AgentTrial) -> None:
    """Each session has an id of its own."""
    connection = await trial.connect()
    first, second = await connection.new_session(), await connection.new_session()
    if first.session_id == second.session_id:
        raise Violation(f"Two sessions have the id {first.session_id}.")


@SESSIONS.add("ACP-ADDDIRS-001", Level.CAPABILITY, "session-setup")
async def accept_additional_directories(trial: AgentTrial) -> None:
    """An agent that announces `additionalDirectories` opens a session with one."""
    announced = (await trial.capabilities()).session_capabilities.additional_directories
    require(announced is not None, "sessionCapabilities.additionalDirectories")
    more = trial.options.folder / "more"
    more.mkdir(exist_ok=True)
    connection = await trial.connect()
    await connection.new_session()
    request = connection.session_request(folders=[str(more)])
    await connection.call("session/new", request, schema.NewSessionResponse)


@SESSIONS.add("PORTICO-MCP-001", Level.MANDATORY, "session-setup#mcp-servers")
async def accept_stdio_servers(trial: AgentTrial) -> None:
    """Every agent opens a session with an MCP server that is a program."""
    server = schema.McpServer(
        name="portico-conformance", command=sys.executable, args=["-c", _MCP_SERVER], env=[]
    )
    connection = await trial.connect()
    await connection.new_session()
    request = connection.session_request(servers=[server])
    await connection.call("session/new", request, schema.NewSessionResponse)


@SESSIONS.add("PORTICO-MCP-002", Level.CAPABILITY, "https://agentclientprotocol.com/rfds/mcp-over-acp")
async def accept_acp_servers(trial: AgentTrial) -> None:
    """An agent that announces `mcpCapabilities.acp` opens a session with an MCP server of the client's."""
    require((await trial.capabilities()).mcp_capabilities.acp, "mcpCapabilities.acp")
    connection = await trial.connect()
    await connection.new_session()
    first = len(connection.dialogue.frames)
    server = schema.McpServer(type="acp", name="portico-conformance", server_id="portico-server")
    request = connection.session_request(servers=[server])
    await connection.call("session/new", request, schema.NewSessionResponse)
    await connection.barrier()
    received = [frame for frame in connection.dialogue.frames[first:] if frame.direction == "received"]
    for frame in received:
        is_message = frame.calls("mcp/message")
        if is_message and frame.params(schema.MessageMcpRequest).server_id != "portico-server":
            raise Violation("A message is for a server that the session was not given.", (frame,))


@SESSIONS.add("PORTICO-ORDER-001", Level.ADVISORY, "session-setup#session-id")
async def announce_session_first(trial: AgentTrial) -> None:
    """No update names a session before `session/new` has told the client its id."""
    connection = await trial.connect()
    first = len(connection.dialogue.frames)
    session = await connection.new_session()
    for frame in connection.dialogue.frames[first:]:
        if frame.calls("session/update") and session.session_id in frame.text:
            raise Violation("An update came before the answer to session/new.", (frame,))
        if frame.direction == "received" and not frame.is_notification:
            return


@SESSIONS.add("ACP-MODES-001", Level.CAPABILITY, "session-modes#initial-state")
async def list_current_mode(trial: AgentTrial) -> None:
    """The current mode of a session is one of its available modes."""
    modes = await _modes(trial)
    if modes.current_mode_id not in [mode.id for mode in modes.available_modes]:
        raise Violation(f"The current mode {modes.current_mode_id} is not available.")


@SESSIONS.add("ACP-MODES-002", Level.CAPABILITY, "session-modes#setting-the-current-mode")
async def set_mode(trial: AgentTrial) -> None:
    """`session/set_mode` with an available mode succeeds."""
    connection = await trial.connect()
    session = await connection.new_session()
    if session.modes is None:
        raise NotAnnounced("The agent has no modes.")
    chosen = [mode.id for mode in session.modes.available_modes if mode.id != session.modes.current_mode_id]
    if not chosen:
        raise NotExercised("The agent has no second mode.")
    first = len(connection.dialogue.frames)
    request = schema.SetSessionModeRequest(session_id=session.session_id, mode_id=chosen[0])
    await connection.call("session/set_mode", request, schema.SetSessionModeResponse)
    await connection.barrier()
    for note in read_updates(connection.dialogue.frames[first:]):
        if isinstance(note.update, schema.CurrentModeUpdate) and note.update.current_mode_id != chosen[0]:
            raise Violation(f"The mode became {note.update.current_mode_id} instead of {chosen[0]}.")


@SESSIONS.add("PORTICO-MODES-001", Level.ADVISORY, "session-modes#setting-the-current-mode")
async def refuse_unknown_mode(trial: AgentTrial) -> None:
    """`session/set_mode` with a mode that is not available is answered with an error."""
    await _modes(trial)
    connection = await trial.connect()
    session = await connection.new_session()
    request = schema.SetSessionModeRequest(session_id=session.session_id, mode_id="portico-unknown")
    answer = await connection.dialogue.request("session/set_mode", request)
    if not answer.failure:
        raise Violation("The unknown mode was accepted.", (answer.frame,))


@SESSIONS.add("ACP-CONFIG-001", Level.CAPABILITY, "session-config-options#initial-state")
async def list_current_values(trial: AgentTrial) -> None:
    """The current value of a configuration option is one of its values."""
    for option in await _options(trial):
        if isinstance(option, schema.SessionConfigSelect) and option.current_value not in _values(option):
            raise Violation(f"The value {option.current_value} of {option.id} is not one of its values.")


@SESSIONS.add("ACP-CONFIG-002", Level.CAPABILITY, "session-config-options#setting-a-config-option")
async def set_option(trial: AgentTrial) -> None:
    """`session/set_config_option` answers with all options, the changed one with its new value."""
    connection = await trial.connect()
    session = await connection.new_session()
    for option in session.config_options or []:
        values = (
            _values(option) if isinstance(option, schema.SessionConfigSelect) else [not option.current_value]
        )
        if other := [value for value in values if value != option.current_value]:
            break
    else:
        raise NotAnnounced("The agent has no configuration options to change.")
    kind = "boolean" if isinstance(option, schema.SessionConfigBoolean) else None
    request = schema.SetSessionConfigOptionRequest(
        session_id=session.session_id, config_id=option.id, value=other[0], type=kind
    )
    expected = schema.SetSessionConfigOptionResponse
    answered = await connection.call("session/set_config_option", request, expected)
    now = {one.id: one.current_value for one in answered.config_options}
    if option.id not in now:
        raise Violation(f"The answer does not have the option {option.id}.")
    if now[option.id] != other[0]:
        raise Violation(f"The option {option.id} is {now[option.id]} and not {other[0]}.")
    if len(now) == 1 and len(session.config_options or []) > 1:
        raise Violation("The answer has the changed option only.")


@SESSIONS.add("ACP-CONFIG-003", Level.MANDATORY, "session-config-options")
async def offer_booleans_if_supported(trial: AgentTrial) -> None:
    """Options of type `boolean` are offered only to a client that announces them."""
    session = await (await trial.connect("bare")).new_session()
    for option in session.config_options or []:
        if isinstance(option, schema.SessionConfigBoolean):
            raise Violation(f"The option {option.id} was offered to a client without the capability.")


async def _modes(trial: AgentTrial) -> schema.SessionModeState:
    session = await (await trial.connect()).new_session()
    if session.modes is None:
        raise NotAnnounced("The agent has no modes.")
    return session.modes


async def _options(trial: AgentTrial) -> Sequence[schema.SessionConfigOption]:
    session = await (await trial.connect()).new_session()
    if not session.config_options:
        raise NotAnnounced("The agent has no configuration options.")
    return session.config_options


def _values(option: schema.SessionConfigSelect) -> list[str | bool]:
    """The values of an option, flat or in groups."""
    groups = [entry.options for entry in option.options if entry.options is not None]
    grouped = [choice.value for group in groups for choice in group]
    return [*grouped, *(entry.value for entry in option.options if entry.value is not None)]
