"""ACP methods of the scripted agent: the session, the default answer and the script steps of each request."""

from __future__ import annotations

from portico.testing.agent.prompt_text import steps_of
from portico.testing.agent.script import ScriptError
from portico.testing.agent.sessions import ScriptedSessionStore
from portico.testing.agent.sign_in import SignIn
from portico.testing.agent.turn import (
    AUTH_REQUIRED,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    NOT_FOUND,
    ScriptedRefusal,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from portico.testing.agent.server import ScriptedAgent
    from portico.testing.agent.sessions import ScriptedSession
    from portico.testing.agent.turn import ScriptedTurn
    from portico.testing.agent.wire import Json

CAPABILITIES: Json = {
    "loadSession": True,
    "promptCapabilities": {"image": True, "embeddedContext": True},
    "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "delete": {}, "fork": {}},
    "auth": {"logout": {}},
}
BEFORE_AUTHENTICATION = ("initialize", "authenticate", "logout")
# The capabilities without which a client must not call a method; `loadSession` stands beside the others.
OPTIONAL = {f"session/{name}": name for name in ("list", "resume", "close", "delete", "fork")}


class ScriptedMethods:
    def __init__(self, agent: ScriptedAgent, state: str | None) -> None:
        self._agent = agent
        self._script = agent.script
        self._sessions = ScriptedSessionStore(state)
        self._capabilities: Json = agent.script.get("capabilities", CAPABILITIES)
        self._sign_in = SignIn(state, needed=agent.script.get("auth_required", False))
        self._known: dict[str, Callable[[ScriptedTurn], Json]] = {
            "initialize": self._initialize,
            "authenticate": self._authenticate,
            "logout": self._logout,
            "session/new": self._new,
            "session/load": self._load,
            "session/resume": self._resume,
            "session/fork": self._fork,
            "session/list": self._list,
            "session/close": self._close,
            "session/delete": self._delete,
            "session/set_mode": self._set_mode,
            "session/set_config_option": self._set_config_option,
            "session/prompt": self._prompt,
        }

    def prepare(self, turn: ScriptedTurn) -> list[Json]:
        """Give the turn its session and its answer, and say which steps it has."""
        method = self._known.get(turn.method)
        if method is None or not self._offered(turn.method):
            raise ScriptedRefusal(METHOD_NOT_FOUND, f"Method not found: {turn.method}")
        if not self._sign_in.done and turn.method not in BEFORE_AUTHENTICATION:
            raise ScriptedRefusal(AUTH_REQUIRED, "Authentication required")
        turn.result = method(turn)
        if turn.method == "session/prompt":
            return self._prompt_steps(turn)
        steps: list[Json] = self._script.get(f"on_{turn.method.removeprefix('session/')}", [])
        return steps

    def _offered(self, method: str) -> bool:
        if method == "session/load":
            return bool(self._capabilities.get("loadSession"))
        if method == "logout":
            return (self._capabilities.get("auth") or {}).get("logout") is not None
        offered = self._capabilities.get("sessionCapabilities") or {}
        return method not in OPTIONAL or offered.get(OPTIONAL[method]) is not None

    def _initialize(self, _: ScriptedTurn) -> Json:
        return {
            "protocolVersion": self._script.get("protocol_version", 1),
            "agentCapabilities": self._capabilities,
            "agentInfo": {"name": "scripted-agent", "title": "Scripted agent", "version": "1"},
            "authMethods": self._script.get("auth_methods", []),
        }

    def _authenticate(self, turn: ScriptedTurn) -> Json:
        methods = self._script.get("auth_methods", [])
        known = [method["id"] for method in methods if method.get("type") != "terminal"]
        if turn.params.get("methodId") not in known:
            raise ScriptedRefusal(INVALID_PARAMS, f"unknown authentication method; there are {known}")
        turn.on_success = self._sign_in.do
        return {}

    def _logout(self, turn: ScriptedTurn) -> Json:
        turn.on_success = self._sign_in.undo
        return {}

    def _new(self, turn: ScriptedTurn) -> Json:
        turn.session = self._sessions.create(_text(turn, "cwd"))
        turn.session.servers = turn.params.get("mcpServers") or []
        return {"sessionId": turn.session.id, **self._settings(turn.session)}

    def _load(self, turn: ScriptedTurn) -> Json:
        if self._reopens_blindly(turn):
            return {}
        session = self._reopened(turn)
        for update in session.updates:
            turn.wire.notify("session/update", {"sessionId": session.id, "update": update})
        return self._settings(session)

    def _resume(self, turn: ScriptedTurn) -> Json:
        if self._reopens_blindly(turn):
            return {}
        return self._settings(self._reopened(turn))

    def _fork(self, turn: ScriptedTurn) -> Json:
        source = self._found(turn)
        turn.session = self._sessions.create(_text(turn, "cwd"))
        turn.session.servers = turn.params.get("mcpServers") or []
        for update in source.updates:
            turn.session.record(update)
        turn.session.save()
        return {"sessionId": turn.session.id, **self._settings(turn.session)}

    def _list(self, turn: ScriptedTurn) -> Json:
        cwd, start = turn.params.get("cwd"), int(turn.params.get("cursor") or 0)
        found = [session.describe() for session in self._sessions.all() if cwd in (None, session.cwd)]
        end = start + self._script.get("page_size", len(found) + 1)
        return {"sessions": found[start:end]} | ({"nextCursor": str(end)} if end < len(found) else {})

    def _close(self, turn: ScriptedTurn) -> Json:
        turn.session = self._open(turn)
        self._agent.stop(turn.session.id)
        del self._sessions.open[turn.session.id]
        return {}

    def _delete(self, turn: ScriptedTurn) -> Json:
        self._sessions.delete(_text(turn, "sessionId"))
        return {}

    def _set_mode(self, turn: ScriptedTurn) -> Json:
        turn.session, mode = self._open(turn), _text(turn, "modeId")
        if mode not in [entry["id"] for entry in self._modes()]:
            raise ScriptedRefusal(INVALID_PARAMS, f"there is no mode {mode!r}")
        turn.session.record({"sessionUpdate": "current_mode_update", "currentModeId": mode})
        turn.session.save()
        return {}

    def _set_config_option(self, turn: ScriptedTurn) -> Json:
        turn.session, wanted = self._open(turn), _text(turn, "configId")
        options = self._options(turn.session)
        if wanted not in [option["id"] for option in options]:
            raise ScriptedRefusal(INVALID_PARAMS, f"there is no option {wanted!r}")
        new = {"currentValue": turn.params.get("value")}
        changed = [option | new if option["id"] == wanted else option for option in options]
        turn.session.record({"sessionUpdate": "config_option_update", "configOptions": changed})
        turn.session.save()
        return {"configOptions": changed}

    def _prompt(self, turn: ScriptedTurn) -> Json:
        turn.session = self._open(turn)
        if self._agent.prompts_of(turn.session.id)[0] is not turn:
            raise ScriptedRefusal(INVALID_REQUEST, "this session has a turn under way")
        blocks = turn.params.get("prompt")
        if not isinstance(blocks, list):
            raise ScriptedRefusal(INVALID_PARAMS, "session/prompt needs prompt")
        turn.words = "\n".join(block["text"] for block in blocks if "text" in block)
        turn.prompt = "\n".join(_block_text(block) for block in blocks)
        turn.session.record_prompt(blocks)
        turn.session.save()
        return {"stopReason": "end_turn"}

    def _prompt_steps(self, turn: ScriptedTurn) -> list[Json]:
        scripted: list[list[Json]] = self._script.get("on_prompt", [])
        if scripted and turn.session is not None:
            return scripted[min(turn.session.prompts, len(scripted)) - 1]
        try:
            return steps_of(turn.words)
        except ScriptError as error:
            raise ScriptedRefusal(INVALID_PARAMS, str(error)) from error

    def _open(self, turn: ScriptedTurn) -> ScriptedSession:
        session = self._sessions.open.get(_text(turn, "sessionId"))
        if session is None and self._script.get("reopens_unknown"):
            raise ScriptedRefusal(INVALID_PARAMS, "Invalid params", {"sessionId": turn.params["sessionId"]})
        if session is None:
            raise ScriptedRefusal(NOT_FOUND, f"session not found: {turn.params['sessionId']}")
        return session

    def _reopened(self, turn: ScriptedTurn) -> ScriptedSession:
        session = self._found(turn)
        session.cwd = _text(turn, "cwd")
        session.servers = turn.params.get("mcpServers") or []
        self._sessions.reopen(session)
        turn.session = session
        return session

    def _reopens_blindly(self, turn: ScriptedTurn) -> bool:
        """Whether it is to say yes to a session that it does not know, as some agents do."""
        unknown = self._sessions.find(_text(turn, "sessionId")) is None
        return unknown and bool(self._script.get("reopens_unknown"))

    def _found(self, turn: ScriptedTurn) -> ScriptedSession:
        session = self._sessions.find(_text(turn, "sessionId"))
        if session is None:
            raise ScriptedRefusal(NOT_FOUND, f"session not found: {turn.params['sessionId']}")
        return session

    def _settings(self, session: ScriptedSession) -> Json:
        settings: Json = {}
        if modes := self._modes():
            current = session.last("current_mode_update", "currentModeId") or modes[0]["id"]
            settings["modes"] = {"currentModeId": current, "availableModes": modes}
        if options := self._options(session):
            settings["configOptions"] = options
        return settings

    def _modes(self) -> list[Json]:
        return [
            {"id": entry, "name": entry.capitalize()} if isinstance(entry, str) else entry
            for entry in self._script.get("modes", [])
        ]

    def _options(self, session: ScriptedSession) -> list[Json]:
        changed = session.last("config_option_update", "configOptions")
        return changed if isinstance(changed, list) else self._script.get("config_options", [])


def _block_text(block: Json) -> str:
    """The text of a block, or its kind."""
    inside = block.get("resource") or block
    return inside.get("text") or f"[{block.get('type')}]"


def _text(turn: ScriptedTurn, name: str) -> str:
    value = turn.params.get(name)
    if not isinstance(value, str):
        raise ScriptedRefusal(INVALID_PARAMS, f"{turn.method} needs {name}")
    return value
