"""What each request of the client means: the session it is about, its plain answer, and its steps in the script."""

from __future__ import annotations

from portico.testing.agent.prompt_text import steps_of
from portico.testing.agent.script import ScriptError
from portico.testing.agent.sessions import Sessions
from portico.testing.agent.sign_in import SignIn
from portico.testing.agent.turn import (
    AUTH_REQUIRED,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    NOT_FOUND,
    Refused,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from portico.testing.agent.server import ScriptedAgent
    from portico.testing.agent.sessions import Session
    from portico.testing.agent.turn import Turn
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


class Methods:
    def __init__(self, agent: ScriptedAgent, state: str | None) -> None:
        self._agent = agent
        self._script = agent.script
        self._sessions = Sessions(state)
        self._capabilities: Json = agent.script.get("capabilities", CAPABILITIES)
        self._sign_in = SignIn(state, needed=agent.script.get("auth_required", False))
        self._known: dict[str, Callable[[Turn], Json]] = {
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

    def prepare(self, turn: Turn) -> list[Json]:
        """Give the turn its session and its answer, and say which steps it has."""
        method = self._known.get(turn.method)
        if method is None or not self._offered(turn.method):
            raise Refused(METHOD_NOT_FOUND, f"Method not found: {turn.method}")
        if not self._sign_in.done and turn.method not in BEFORE_AUTHENTICATION:
            raise Refused(AUTH_REQUIRED, "Authentication required")
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

    def _initialize(self, _: Turn) -> Json:
        return {
            "protocolVersion": self._script.get("protocol_version", 1),
            "agentCapabilities": self._capabilities,
            "agentInfo": {"name": "scripted-agent", "title": "Scripted agent", "version": "1"},
            "authMethods": self._script.get("auth_methods", []),
        }

    def _authenticate(self, turn: Turn) -> Json:
        methods = self._script.get("auth_methods", [])
        known = [method["id"] for method in methods if method.get("type") != "terminal"]
        if turn.params.get("methodId") not in known:
            raise Refused(INVALID_PARAMS, f"unknown authentication method; there are {known}")
        turn.on_success = self._sign_in.do
        return {}

    def _logout(self, turn: Turn) -> Json:
        turn.on_success = self._sign_in.undo
        return {}

    def _new(self, turn: Turn) -> Json:
        turn.session = self._sessions.create(_text(turn, "cwd"))
        turn.session.servers = turn.params.get("mcpServers") or []
        return {"sessionId": turn.session.id, **self._settings(turn.session)}

    def _load(self, turn: Turn) -> Json:
        if self._reopens_blindly(turn):
            return {}
        session = self._reopened(turn)
        for update in session.updates:
            turn.wire.notify("session/update", {"sessionId": session.id, "update": update})
        return self._settings(session)

    def _resume(self, turn: Turn) -> Json:
        if self._reopens_blindly(turn):
            return {}
        return self._settings(self._reopened(turn))

    def _fork(self, turn: Turn) -> Json:
        source = self._found(turn)
        turn.session = self._sessions.create(_text(turn, "cwd"))
        turn.session.servers = turn.params.get("mcpServers") or []
        for update in source.updates:
            turn.session.record(update)
        turn.session.save()
        return {"sessionId": turn.session.id, **self._settings(turn.session)}

    def _list(self, turn: Turn) -> Json:
        cwd, start = turn.params.get("cwd"), int(turn.params.get("cursor") or 0)
        found = [session.describe() for session in self._sessions.all() if cwd in (None, session.cwd)]
        end = start + self._script.get("page_size", len(found) + 1)
        return {"sessions": found[start:end]} | ({"nextCursor": str(end)} if end < len(found) else {})

    def _close(self, turn: Turn) -> Json:
        turn.session = self._open(turn)
        self._agent.stop(turn.session.id)
        del self._sessions.open[turn.session.id]
        return {}

    def _delete(self, turn: Turn) -> Json:
        self._sessions.delete(_text(turn, "sessionId"))
        return {}

    def _set_mode(self, turn: Turn) -> Json:
        turn.session, mode = self._open(turn), _text(turn, "modeId")
        if mode not in [entry["id"] for entry in self._modes()]:
            raise Refused(INVALID_PARAMS, f"there is no mode {mode!r}")
        turn.session.record({"sessionUpdate": "current_mode_update", "currentModeId": mode})
        turn.session.save()
        return {}

    def _set_config_option(self, turn: Turn) -> Json:
        turn.session, wanted = self._open(turn), _text(turn, "configId")
        options = self._options(turn.session)
        if wanted not in [option["id"] for option in options]:
            raise Refused(INVALID_PARAMS, f"there is no option {wanted!r}")
        new = {"currentValue": turn.params.get("value")}
        changed = [option | new if option["id"] == wanted else option for option in options]
        turn.session.record({"sessionUpdate": "config_option_update", "configOptions": changed})
        turn.session.save()
        return {"configOptions": changed}

    def _prompt(self, turn: Turn) -> Json:
        turn.session = self._open(turn)
        if self._agent.prompts_of(turn.session.id)[0] is not turn:
            raise Refused(INVALID_REQUEST, "this session has a turn under way")
        blocks = turn.params.get("prompt")
        if not isinstance(blocks, list):
            raise Refused(INVALID_PARAMS, "session/prompt needs prompt")
        turn.words = "\n".join(block["text"] for block in blocks if "text" in block)
        turn.prompt = "\n".join(_told(block) for block in blocks)
        turn.session.record_prompt(blocks)
        turn.session.save()
        return {"stopReason": "end_turn"}

    def _prompt_steps(self, turn: Turn) -> list[Json]:
        scripted: list[list[Json]] = self._script.get("on_prompt", [])
        if scripted and turn.session is not None:
            return scripted[min(turn.session.prompts, len(scripted)) - 1]
        try:
            return steps_of(turn.words)
        except ScriptError as error:
            raise Refused(INVALID_PARAMS, str(error)) from error

    def _open(self, turn: Turn) -> Session:
        session = self._sessions.open.get(_text(turn, "sessionId"))
        if session is None and self._script.get("reopens_unknown"):
            raise Refused(INVALID_PARAMS, "Invalid params", {"sessionId": turn.params["sessionId"]})
        if session is None:
            raise Refused(NOT_FOUND, f"session not found: {turn.params['sessionId']}")
        return session

    def _reopened(self, turn: Turn) -> Session:
        session = self._found(turn)
        session.cwd = _text(turn, "cwd")
        session.servers = turn.params.get("mcpServers") or []
        self._sessions.reopen(session)
        turn.session = session
        return session

    def _reopens_blindly(self, turn: Turn) -> bool:
        """Whether it is to say yes to a session that it does not know, as some agents do."""
        unknown = self._sessions.find(_text(turn, "sessionId")) is None
        return unknown and bool(self._script.get("reopens_unknown"))

    def _found(self, turn: Turn) -> Session:
        session = self._sessions.find(_text(turn, "sessionId"))
        if session is None:
            raise Refused(NOT_FOUND, f"session not found: {turn.params['sessionId']}")
        return session

    def _settings(self, session: Session) -> Json:
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

    def _options(self, session: Session) -> list[Json]:
        changed = session.last("config_option_update", "configOptions")
        return changed if isinstance(changed, list) else self._script.get("config_options", [])


def _told(block: Json) -> str:
    """What a block says, or what kind of block it is."""
    inside = block.get("resource") or block
    return inside.get("text") or f"[{block.get('type')}]"


def _text(turn: Turn, name: str) -> str:
    value = turn.params.get(name)
    if not isinstance(value, str):
        raise Refused(INVALID_PARAMS, f"{turn.method} needs {name}")
    return value
