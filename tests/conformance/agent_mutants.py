"""Agents with one rule broken each, and the case that has to catch each of them."""

import asyncio
import json
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from tests.conformance.correct_agent import SWITCH, CorrectAgent, Edit, Json, RequestFailed

Change = Callable[[Json], Any]


class Mutant(NamedTuple):
    case: str
    name: str
    edit: Edit | None = None
    agent: type[CorrectAgent] = CorrectAgent
    is_silent: bool = False
    """Whether it is caught by an answer that does not come."""
    needs_record: bool = False


def _result(about: str, change: Change) -> Edit:
    """Change the result of a method."""

    def edit(_agent: CorrectAgent, method: str, message: Json) -> Iterable[Json | bytes]:
        if method == about and "result" in message:
            result = json.loads(json.dumps(message["result"]))
            change(result)
            return [{**message, "result": result}]
        return [message]

    return edit


def _params(about: str, change: Change) -> Edit:
    """Change the parameters of what the agent sends by a method."""

    def edit(_agent: CorrectAgent, method: str, message: Json) -> Iterable[Json | bytes]:
        if method == about and "method" in message:
            params = json.loads(json.dumps(message["params"]))
            change(params)
            return [{**message, "params": params}]
        return [message]

    return edit


def _replace(about: str, make: Callable[[CorrectAgent, Json], Iterable[Json | bytes]]) -> Edit:
    """Send something else in place of the answers to a method, or of its calls."""

    def edit(agent: CorrectAgent, method: str, message: Json) -> Iterable[Json | bytes]:
        return make(agent, message) if method == about else [message]

    return edit


def _error(about: str, code: int = -32603) -> Edit:
    return _replace(
        about, lambda _, message: [{"id": message["id"], "error": {"code": code, "message": "No"}}]
    )


def _accept(about: str) -> Edit:
    """Answer errors of a method with an empty result."""
    return _replace(about, lambda _, message: [{"id": message["id"], "result": message.get("result", {})}])


def _refuse_block(kind: str) -> type[CorrectAgent]:
    class Refusing(CorrectAgent):
        async def session_prompt(self, params: Json) -> Json:
            if any(block["type"] == kind for block in params["prompt"]):
                raise RequestFailed(-32602, f"No {kind} here")
            return await super().session_prompt(params)

    return Refusing


def _chunk(session_id: str, text: str = "late") -> Json:
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    return {"method": "session/update", "params": {"sessionId": session_id, "update": update}}


def _latest(agent: CorrectAgent) -> str:
    return list(agent.sessions)[-1]


def _ending_late(about: str) -> Edit:
    return _replace(about, lambda agent, message: [message, _chunk(_latest(agent))])


class _AnswersNotifications(CorrectAgent):
    def read_line(self, line: bytes) -> None:
        super().read_line(line)
        message = json.loads(line)
        if "id" not in message:
            self.send("", {"id": None, "error": {"code": -32600, "message": "No id"}})


class _StopsAtErrors(CorrectAgent):
    def read_line(self, line: bytes) -> None:
        if self._stopped():
            return
        super().read_line(line)

    def _stopped(self) -> bool:
        return getattr(self, "has_failed", False)

    def send(self, about: str, message: Json) -> None:
        super().send(about, message)
        self.has_failed = "error" in message


class _StopsAtBrokenLines(CorrectAgent):
    def read_line(self, line: bytes) -> None:
        if getattr(self, "is_broken", False):
            return
        try:
            message = json.loads(line)
            self.is_broken = not ("method" in message or "result" in message or "error" in message)
        except ValueError:
            self.is_broken = True
        super().read_line(line)


class _ReadsOneMessageAtATime(CorrectAgent):
    """Takes each read for one message."""

    async def run(self) -> None:
        while chunk := await self._stream.read():
            self.read_line(chunk.rstrip(b"\n"))


class _SplitsAtUnicode(CorrectAgent):
    def read_line(self, line: bytes) -> None:
        for part in line.decode().splitlines():
            super().read_line(part.encode())


class _RefusesLargeLines(CorrectAgent):
    def read_line(self, line: bytes) -> None:
        if len(line) < 64 * 1024:
            super().read_line(line)


class _DropsWhenFull(CorrectAgent):
    def send(self, about: str, message: Json) -> None:
        if not self._stream.is_full:
            super().send(about, message)


class _AnswersTwice(CorrectAgent):
    def send(self, about: str, message: Json) -> None:
        super().send(about, message)
        if about.startswith("_") and self._stream.is_full:
            super().send(about, message)


class _LogsMessages(CorrectAgent):
    log = '{"jsonrpc":"2.0","method":"session/update","params":{}}'


class _StaysAfterInput(CorrectAgent):
    async def run(self) -> None:
        await super().run()
        await asyncio.Event().wait()


class _StrictAboutServers(CorrectAgent):
    async def session_new(self, params: Json) -> Json:
        if params["mcpServers"]:
            raise RequestFailed(-32602, "No MCP servers")
        return await super().session_new(params)


class _StrictAboutFolders(CorrectAgent):
    async def session_new(self, params: Json) -> Json:
        if params.get("additionalDirectories"):
            raise RequestFailed(-32602, "One folder only")
        return await super().session_new(params)


class _StrictAboutMeta(CorrectAgent):
    async def session_prompt(self, params: Json) -> Json:
        if "_meta" in params:
            await asyncio.Event().wait()
        return await super().session_prompt(params)


class _OneTurnAtATime(CorrectAgent):
    async def session_prompt(self, params: Json) -> Json:
        if self._cancelled or getattr(self, "is_busy", False):
            await asyncio.Event().wait()
        self.is_busy = True
        await asyncio.sleep(0)
        result = await super().session_prompt(params)
        self.is_busy = False
        return result


class _IgnoresCancel(CorrectAgent):
    async def _wait(self, session_id: str) -> str:
        await super()._wait(session_id)
        return "end_turn"


class _FailsCancelled(CorrectAgent):
    async def _wait(self, session_id: str) -> str:
        await super()._wait(session_id)
        raise RequestFailed(-32603, "aborted")


class _NeverEndsCancelled(CorrectAgent):
    def cancel(self, session_id: str) -> None:
        return


class _RemembersCancel(CorrectAgent):
    def cancel(self, session_id: str) -> None:
        super().cancel(session_id)
        self.is_cancelled = True

    async def _speak(self, session_id: str) -> str:
        return "cancelled" if getattr(self, "is_cancelled", False) else await super()._speak(session_id)


class _UsesEverything(CorrectAgent):
    """Asks whatever the client announces, or not."""

    async def initialize(self, params: Json) -> Json:
        result = await super().initialize(params)
        self.client = {"fs": {"readTextFile": True}, "terminal": True, "elicitation": {"form": {}}}
        return result


class _ForgetsAtExit(CorrectAgent):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.sessions = {}


class _ReleasesTwice(CorrectAgent):
    async def ask(self, method: str, params: Json) -> Json:
        if method == "terminal/release":
            await super().ask(method, params)
        return await super().ask(method, params)


class _IgnoresClose(CorrectAgent):
    async def _wait(self, session_id: str) -> str:
        stop_reason = await super()._wait(session_id)
        return "end_turn" if getattr(self, "is_closed", False) else stop_reason

    async def session_close(self, params: Json) -> Json:
        self.is_closed = True
        return await super().session_close(params)


class _EchoesVersion(CorrectAgent):
    async def initialize(self, params: Json) -> Json:
        return {**await super().initialize(params), "protocolVersion": params["protocolVersion"]}


class _ForgetsResumed(CorrectAgent):
    async def session_resume(self, params: Json) -> Json:
        self.sessions.pop(params["sessionId"])
        return {}


class _DeletesOnce(CorrectAgent):
    async def session_delete(self, params: Json) -> Json:
        if params["sessionId"] not in self.sessions:
            raise RequestFailed(-32002, "Unknown session")
        return await super().session_delete(params)


class _KeepsDeleted(CorrectAgent):
    async def session_delete(self, params: Json) -> Json:
        return {}


def _no_way_in(_agent: CorrectAgent, about: str, message: Json) -> Iterable[Json | bytes]:
    if about == "initialize":
        message["result"] = {**message["result"], "authMethods": []}
    if about == "session/new":
        return [{"id": message["id"], "error": {"code": -32000, "message": "Sign in"}}]
    return [message]


def _completing(_agent: CorrectAgent, about: str, message: Json) -> Iterable[Json | bytes]:
    update = message.get("params", {}).get("update", {})
    if update.get("sessionUpdate") == "tool_call_update":
        update["status"] = "completed"
    return [message]


def _updating_unknown_calls(_agent: CorrectAgent, about: str, message: Json) -> Iterable[Json | bytes]:
    update = message.get("params", {}).get("update", {})
    if update.get("sessionUpdate") == "tool_call_update":
        update["toolCallId"] = "unknown"
    return [message]


def _without_release(_agent: CorrectAgent, about: str, message: Json) -> Iterable[Json | bytes]:
    if about == "terminal/release":
        return [{"id": message["id"], "method": "terminal/output", "params": message["params"]}]
    return [message]


def _in_other_session(_agent: CorrectAgent, about: str, message: Json) -> Iterable[Json | bytes]:
    if about == "session/update":
        message["params"]["sessionId"] = "another"
    return [message]


def _replaying(agent: CorrectAgent, message: Json) -> Iterable[Json | bytes]:
    return [_chunk(_latest(agent)), message]


def _untyped_update(_agent: CorrectAgent, about: str, message: Json) -> Iterable[Json | bytes]:
    if about == "session/update":
        message["params"]["update"]["content"] = "OK"
    return [message]


def _without_users(_agent: CorrectAgent, about: str, message: Json) -> Iterable[Json | bytes]:
    kind = message.get("params", {}).get("update", {}).get("sessionUpdate")
    return [] if kind == "user_message_chunk" else [message]


MUTANTS = (
    Mutant("ACP-INIT-001", "version-as-text", _result("initialize", lambda r: r.update(protocolVersion="1"))),
    Mutant("ACP-INIT-001", "capabilities-as-list", _result("initialize", lambda r: r.update(agentCapabilities=[]))),
    Mutant("ACP-INIT-002", "other-version", _result("initialize", lambda r: r.update(protocolVersion=2))),
    Mutant("ACP-INIT-003", "lower-version", agent=_EchoesVersion),
    Mutant("ACP-INIT-004", "no-info", _result("initialize", lambda r: r.pop("agentInfo"))),
    Mutant("ACP-AUTH-001", "same-ids", _result("initialize", lambda r: r.update(authMethods=[{"id": "a", "name": "A"}] * 2 + r["authMethods"]))),
    Mutant("ACP-AUTH-002", "terminal-for-all", _result("initialize", lambda r: r.update(authMethods=[{"id": "key", "name": "K", "type": "terminal"}]))),
    Mutant("ACP-AUTH-003", "still-wants-sign-in", _error("session/new", -32000)),
    Mutant("ACP-AUTH-004", "no-logout", _error("logout")),
    Mutant("ACP-AUTH-005", "no-way-in", _no_way_in),
    Mutant("ACP-STDERR-001", "messages", agent=_LogsMessages, needs_record=True),
    Mutant("ACP-SHUTDOWN-001", "stays", agent=_StaysAfterInput, is_silent=True),
    Mutant("ACP-JSONRPC-001", "ids-as-text", lambda _a, about, m: [{**m, "id": str(m["id"])}] if about.startswith("_") else [m], is_silent=True),
    Mutant("ACP-JSONRPC-003", "answers", agent=_AnswersNotifications),
    Mutant("ACP-JSONRPC-004", "other-code", lambda _a, about, m: [{**m, "error": {"code": -32603, "message": "?"}}] if "unknown" in about else [m]),
    Mutant("ACP-JSONRPC-005", "stops", agent=_StopsAtErrors, is_silent=True),
    Mutant("ACP-EXT-001", "silent", lambda _a, about, m: [] if about.startswith("_") else [m], is_silent=True),
    Mutant("PORTICO-FRAMES-001", "one-read-one-message", agent=_ReadsOneMessageAtATime, is_silent=True),
    Mutant("PORTICO-FRAMES-002", "splits-at-unicode", agent=_SplitsAtUnicode, is_silent=True),
    Mutant("PORTICO-FRAMES-003", "small-buffer", agent=_RefusesLargeLines, is_silent=True),
    Mutant("PORTICO-BACKPRESSURE-001", "drops", agent=_DropsWhenFull, is_silent=True),
    Mutant("PORTICO-BACKPRESSURE-001", "answers-twice", agent=_AnswersTwice),
    Mutant("ACP-INFO-PARSE-001", "stops", agent=_StopsAtBrokenLines, is_silent=True),
    Mutant("ACP-INFO-INVALIDREQ-001", "stops", agent=_StopsAtBrokenLines, is_silent=True),
    Mutant("ACP-SESSION-001", "empty-id", _result("session/new", lambda r: r.update(sessionId=""))),
    Mutant("ACP-SESSION-001", "no-id", _result("session/new", lambda r: r.pop("sessionId"))),
    Mutant("ACP-SESSION-001", "error", _error("session/new")),
    Mutant("ACP-SESSION-002", "same-id", _result("session/new", lambda r: r.update(sessionId="one"))),
    Mutant("ACP-ADDDIRS-001", "refused", agent=_StrictAboutFolders),
    Mutant("PORTICO-MCP-001", "refused", agent=_StrictAboutServers),
    Mutant("PORTICO-MCP-002", "refused", agent=_StrictAboutServers),
    Mutant("PORTICO-ORDER-001", "early-update", _replace("session/new", _replaying)),
    Mutant("ACP-MODES-001", "unknown-current", _result("session/new", lambda r: r["modes"].update(currentModeId="x"))),
    Mutant("ACP-MODES-002", "refused", _error("session/set_mode")),
    Mutant("ACP-MODES-002", "other-mode", _params("session/update", lambda p: p["update"].update(currentModeId="ask"))),
    Mutant("PORTICO-MODES-001", "accepted", _accept("session/set_mode")),
    Mutant("ACP-CONFIG-001", "unknown-value", _result("session/new", lambda r: r["configOptions"][0].update(currentValue="x"))),
    Mutant("ACP-CONFIG-002", "unchanged", _result("session/set_config_option", lambda r: r["configOptions"][0].update(currentValue="small"))),
    Mutant("ACP-CONFIG-002", "changed-only", _result("session/set_config_option", lambda r: r["configOptions"].pop())),
    Mutant("ACP-CONFIG-003", "boolean-for-all", _result("session/new", lambda r: r.update(configOptions=[SWITCH]))),
    Mutant("ACP-PROMPT-001", "unknown-reason", _result("session/prompt", lambda r: r.update(stopReason="done"))),
    Mutant("ACP-PROMPT-001", "no-answer", _replace("session/prompt", lambda *_: []), is_silent=True),
    Mutant("ACP-PROMPT-002", "other-session", _in_other_session),
    Mutant("ACP-PROMPT-003", "refused", agent=_refuse_block("resource_link")),
    Mutant("ACP-PROMPTCAP-001", "refused", agent=_refuse_block("image")),
    Mutant("ACP-PROMPTCAP-002", "refused", agent=_refuse_block("audio")),
    Mutant("ACP-PROMPTCAP-003", "refused", agent=_refuse_block("resource")),
    Mutant("ACP-META-001", "hangs", agent=_StrictAboutMeta, is_silent=True),
    Mutant("ACP-INFO-UNKNOWNSESSION-001", "accepted", _accept("session/prompt")),
    Mutant("PORTICO-ORDER-002", "late-chunk", _ending_late("session/prompt")),
    Mutant("PORTICO-ORDER-003", "one-turn-only", agent=_OneTurnAtATime, is_silent=True),
    Mutant("ACP-CANCEL-001", "end-turn", agent=_IgnoresCancel),
    Mutant("ACP-CANCEL-001", "error", agent=_FailsCancelled),
    Mutant("ACP-CANCEL-001", "never", agent=_NeverEndsCancelled, is_silent=True),
    Mutant("ACP-CANCEL-002", "late-chunk", _ending_late("session/prompt")),
    Mutant("PORTICO-CANCEL-001", "remembered", agent=_RemembersCancel),
    Mutant("PORTICO-CANCEL-002", "other-error", agent=_FailsCancelled),
    Mutant("PORTICO-CANCEL-002", "never", agent=_NeverEndsCancelled, is_silent=True),
    Mutant("ACP-CLIENTCAP-001", "reads", agent=_UsesEverything),
    Mutant("ACP-CLIENTCAP-002", "runs", agent=_UsesEverything),
    Mutant("ACP-CLIENTCAP-003", "asks", agent=_UsesEverything),
    Mutant("PORTICO-FILES-001", "relative", _params("fs/read_text_file", lambda p: p.update(path="conformance.txt"))),
    Mutant("PORTICO-FILES-001", "line-0", _params("fs/read_text_file", lambda p: p.update(line=0))),
    Mutant("PORTICO-TERMINALS-001", "kept", _without_release),
    Mutant("PORTICO-TERMINALS-002", "released-twice", agent=_ReleasesTwice),
    Mutant("PORTICO-PERMISSIONS-001", "same-ids", _params("session/request_permission", lambda p: p.update(options=[p["options"][1]] * 2))),
    Mutant("PORTICO-PERMISSIONS-001", "no-options", _params("session/request_permission", lambda p: p.update(options=[]))),
    Mutant("PORTICO-PERMISSIONS-002", "completed", _completing),
    Mutant("PORTICO-PERMISSIONS-003", "end-turn", _result("session/prompt", lambda r: r.update(stopReason="end_turn"))),
    Mutant("PORTICO-ELICITATION-001", "no-schema", _params("elicitation/create", lambda p: p.pop("requestedSchema"))),
    Mutant("PORTICO-ELICITATION-001", "no-session", _params("elicitation/create", lambda p: p.pop("sessionId"))),
    Mutant("PORTICO-TOOLS-001", "unknown-call", _updating_unknown_calls, needs_record=True),
    Mutant("ACP-LOAD-001", "error", _error("session/load")),
    Mutant("ACP-LOAD-002", "late-replay", _ending_late("session/load")),
    Mutant("ACP-LOAD-003", "null", _replace("session/load", lambda _, m: [{**m, "result": None}])),
    Mutant("PORTICO-LOAD-001", "without-prompts", _without_users),
    Mutant("PORTICO-LOAD-002", "accepted", _accept("session/load")),
    Mutant("PORTICO-CRASH-001", "forgets", agent=_ForgetsAtExit),
    Mutant("ACP-RESUME-001", "error", _error("session/resume")),
    Mutant("ACP-RESUME-002", "replays", _replace("session/resume", _replaying)),
    Mutant("PORTICO-RESUME-001", "deaf", agent=_ForgetsResumed),
    Mutant("ACP-LIST-001", "no-sessions", _result("session/list", lambda r: r.pop("sessions", None))),
    Mutant("ACP-LIST-002", "everything", _result("session/list", lambda r: r.update(sessions=[{"sessionId": "x", "cwd": "/"}]))),
    Mutant("PORTICO-LIST-001", "twice", _result("session/list", lambda r: r.update(sessions=[{"sessionId": "x", "cwd": "/"}] * 2))),
    Mutant("PORTICO-LIST-002", "relative", _result("session/list", lambda r: r.update(sessions=[{"sessionId": "x", "cwd": "work"}]))),
    Mutant("ACP-DELETE-001", "error", _error("session/delete")),
    Mutant("ACP-DELETE-002", "second-fails", agent=_DeletesOnce),
    Mutant("PORTICO-DELETE-001", "still-listed", agent=_KeepsDeleted),
    Mutant("ACP-CLOSE-001", "error", _error("session/close")),
    Mutant("ACP-CLOSE-002", "end-turn", agent=_IgnoresClose),
    Mutant("ACP-TRANSPORT-001", "log-line", lambda _a, about, m: [b"Listening\n", m] if about == "initialize" else [m], needs_record=True),
    Mutant("ACP-TRANSPORT-001", "no-version", lambda _a, _about, m: [json.dumps(m).encode() + b"\n"], needs_record=True),
    Mutant("ACP-TRANSPORT-002", "latin-1", lambda _a, about, m: [b'{"jsonrpc":"2.0","method":"_x","params":"\xe9"}\n', m] if about == "initialize" else [m], needs_record=True),
    Mutant("ACP-JSONRPC-002", "both", _replace("session/new", lambda _, m: [{**m, "error": None}]), needs_record=True),
    Mutant("ACP-JSONRPC-002", "code-as-text", lambda _a, about, m: [{**m, "error": {"code": "x", "message": "?"}}] if "unknown" in about else [m], needs_record=True),
    Mutant("ACP-SCHEMA-001", "untyped-update", _untyped_update, needs_record=True),
    Mutant("ACP-SCHEMA-001", "unknown-method", _replace("session/new", lambda _, m: [{"method": "session/hello"}, m]), needs_record=True),
    Mutant("ACP-SCHEMA-002", "own-field", _result("session/new", lambda r: r.update(colour="red")), needs_record=True),
    Mutant("ACP-ERROR-001", "two-lines", lambda _a, _about, m: [{**m, "error": {"code": -32601, "message": "a\nb"}}] if "error" in m else [m], needs_record=True),
)  # fmt: skip
