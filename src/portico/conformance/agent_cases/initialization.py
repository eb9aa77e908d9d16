"""Cases about `initialize`, authentication and the end of the connection."""

from portico.acp import _schema as schema
from portico.conformance.agent_trial import AUTH_REQUIRED, AgentTrial, require
from portico.conformance.case import CaseList, Level, NotExercised, Violation
from portico.conformance.dialogue import read_message

INITIALIZATION: CaseList[AgentTrial] = CaseList()

_NO_SUCH_VERSION = 65535


@INITIALIZATION.add("ACP-INIT-001", Level.MANDATORY, "initialization")
async def initialize(trial: AgentTrial) -> None:
    """`initialize` succeeds, and its result has the types of the protocol."""
    connection = await trial.open()
    await connection.initialize()


@INITIALIZATION.add("ACP-INIT-002", Level.MANDATORY, "initialization#version-negotiation")
async def agree_on_version(trial: AgentTrial) -> None:
    """An agent that is asked for protocol version 1 answers with 1."""
    connection = await trial.connect("bare")
    if connection.initialized.protocol_version != 1:
        found = connection.initialized.protocol_version
        raise Violation(f"The agent answered with {found}.", connection.greeting)


@INITIALIZATION.add("ACP-INIT-003", Level.MANDATORY, "initialization#version-negotiation")
async def answer_newer_version(trial: AgentTrial) -> None:
    """An agent that is asked for a version it does not support answers with the latest it does support."""
    usual = (await trial.connect("bare")).initialized.protocol_version
    connection = await trial.open("bare")
    version = await connection.negotiate(_NO_SUCH_VERSION)
    if version == _NO_SUCH_VERSION or version < usual:
        raise Violation(f"The agent answered with {version}, and with {usual} when it was asked for 1.")


@INITIALIZATION.add("ACP-INIT-004", Level.ADVISORY, "initialization#implementation-information")
async def name_itself(trial: AgentTrial) -> None:
    """The result of `initialize` has the agent's name and version in `agentInfo`."""
    connection = await trial.connect()
    info = connection.initialized.agent_info
    if info is None or not info.name or not info.version:
        raise Violation("agentInfo is missing or incomplete.", connection.greeting)


@INITIALIZATION.add("ACP-AUTH-001", Level.ADVISORY, "authentication")
async def use_unique_methods(trial: AgentTrial) -> None:
    """The ids of the authentication methods are unique."""
    connection = await trial.connect()
    ids = [method.id for method in connection.initialized.auth_methods]
    if not ids:
        raise NotExercised("The agent has no authentication methods.")
    if len(set(ids)) != len(ids):
        raise Violation(f"The ids are {', '.join(ids)}.", connection.greeting)


@INITIALIZATION.add("ACP-AUTH-002", Level.MANDATORY, "authentication")
async def offer_terminal_methods_if_supported(trial: AgentTrial) -> None:
    """Authentication methods of type `terminal` are offered only to a client that announces `auth.terminal`."""
    connection = await trial.connect("bare")
    for method in connection.initialized.auth_methods:
        if method.type == "terminal":
            problem = f"The method {method.id} was offered to a client without the capability."
            raise Violation(problem, connection.greeting)


@INITIALIZATION.add("ACP-AUTH-003", Level.CAPABILITY, "authentication")
async def open_sessions_after_sign_in(trial: AgentTrial) -> None:
    """After `authenticate` has succeeded, `session/new` is not refused for want of a sign-in."""
    if trial.options.auth_method is None:
        raise NotExercised("No method was named with --auth-method.")
    connection = await trial.connect()
    request = schema.NewSessionRequest(cwd=str(trial.options.folder), mcp_servers=[])
    answer = await connection.dialogue.request("session/new", request)
    if answer.failure.startswith(f"error {AUTH_REQUIRED}:"):
        raise Violation("session/new wants a sign-in after authenticate has succeeded.", (answer.frame,))


@INITIALIZATION.add("ACP-AUTH-004", Level.CAPABILITY, "authentication")
async def log_out(trial: AgentTrial) -> None:
    """An agent that announces `auth.logout` answers `logout` with an empty result."""
    require((await trial.capabilities()).auth.logout is not None, "auth.logout")
    if not trial.options.allow_logout:
        raise NotExercised("It would sign the agent out; --allow-logout permits that.")
    connection = await trial.open()
    await connection.initialize()
    await connection.call("logout", schema.LogoutRequest(), schema.LogoutResponse)


@INITIALIZATION.add("ACP-AUTH-005", Level.ADVISORY, "initialization")
async def want_no_sign_in_without_methods(trial: AgentTrial) -> None:
    """An agent without authentication methods does not refuse a session for want of a sign-in."""
    connection = await trial.connect()
    if connection.initialized.auth_methods:
        raise NotExercised("The agent has authentication methods.")
    request = schema.NewSessionRequest(cwd=str(trial.options.folder), mcp_servers=[])
    answer = await connection.dialogue.request("session/new", request)
    if answer.failure.startswith(f"error {AUTH_REQUIRED}:"):
        raise Violation("The agent wants a sign-in and offers no way to do it.", (answer.frame,))


@INITIALIZATION.add("ACP-SHUTDOWN-001", Level.ADVISORY, "transports#stdio")
async def exit_at_end_of_input(trial: AgentTrial) -> str:
    """The agent exits by itself when its input is closed."""
    connection = await trial.open()
    await connection.initialize()
    await connection.dialogue.close()
    return f"It ended with {await connection.running.wait()}."


@INITIALIZATION.add("ACP-STDERR-001", Level.ADVISORY, "transports#stdio")
async def keep_stderr_apart(trial: AgentTrial) -> str:
    """The agent logs to standard error, and sends no message of the protocol there."""
    await trial.connect()
    for connection in trial.connections:
        for line in connection.running.stderr_tail().splitlines():
            if read_message(line.encode()) is not None:
                raise Violation(f"A message went to standard error: {line[:200]}", connection.greeting)
    return f"{sum(connection.running.stderr_size for connection in trial.connections)} bytes."
