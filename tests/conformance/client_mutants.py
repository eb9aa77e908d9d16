"""Clients with one rule broken each, and the case that has to catch each of them."""

import asyncio
import json
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

from tests.conformance.correct_client import CorrectClient, Json, RequestFailed, Terminal, read_file


class ClientMutant(NamedTuple):
    case: str
    client: type[CorrectClient]
    is_silent: bool = False
    """Whether it is caught by an answer that does not come."""


class _Edited(CorrectClient, ABC):
    """Changes what it sends by method."""

    @abstractmethod
    def edit(self, method: str, params: Json) -> None:
        """Change the parameters of a message that is about to be sent."""

    def send(self, message: Json) -> None:
        if "method" in message:
            message = json.loads(json.dumps(message))
            self.edit(message["method"], message["params"])
        super().send(message)


class VersionAsText(_Edited):
    def edit(self, method: str, params: Json) -> None:
        if method == "initialize":
            params["protocolVersion"] = "1"


class SessionFirst(CorrectClient):
    async def drive(self) -> None:
        self.send({"id": "early", "method": "session/new", "params": {"cwd": "/", "mcpServers": []}})
        await super().drive()


class Impatient(CorrectClient):
    def send(self, message: Json) -> None:
        super().send(message)
        if message.get("method") == "initialize":
            super().send({"id": "early", "method": "session/new", "params": {"cwd": "/", "mcpServers": []}})


class Anonymous(_Edited):
    def edit(self, method: str, params: Json) -> None:
        params.pop("clientInfo", None)


class AnyVersion(CorrectClient):
    async def ask(self, method: str, params: Json) -> Json:
        result = await super().ask(method, params)
        return {**result, "protocolVersion": 1} if method == "initialize" else result


class OwnMethod(_Edited):
    def edit(self, method: str, params: Json) -> None:
        if method == "authenticate":
            params["methodId"] = "password"


class RelativeFolder(_Edited):
    def edit(self, method: str, params: Json) -> None:
        if method == "session/new":
            params["cwd"] = "work"


class ServerOverHttp(_Edited):
    def edit(self, method: str, params: Json) -> None:
        if method == "session/new":
            params["mcpServers"] = [{"type": "http", "name": "x", "url": "http://localhost/", "headers": []}]


class OtherSession(_Edited):
    def edit(self, method: str, params: Json) -> None:
        if method == "session/prompt":
            params["sessionId"] = "another"


class SendsImages(_Edited):
    def edit(self, method: str, params: Json) -> None:
        if method == "session/prompt":
            params["prompt"].append({"type": "image", "data": "AA==", "mimeType": "image/png"})


class EmptyPrompt(_Edited):
    def edit(self, method: str, params: Json) -> None:
        if method == "session/prompt":
            params["prompt"] = []


class ListsAnyway(CorrectClient):
    async def open_session(self, greeting: Json) -> str:
        self.send({"id": "list", "method": "session/list", "params": {}})
        return await super().open_session(greeting)


class ReadsTrimmed(CorrectClient):
    async def fs_read_text_file(self, params: Json) -> Json:
        result = await super().fs_read_text_file(params)
        return {"content": result["content"].replace("\n\n", "\n")}


class CountsFromZero(CorrectClient):
    async def fs_read_text_file(self, params: Json) -> Json:
        line = params.get("line")
        return await super().fs_read_text_file({**params, "line": None if line is None else line + 1})


class NoLimit(CorrectClient):
    async def fs_read_text_file(self, params: Json) -> Json:
        return await super().fs_read_text_file({**params, "limit": None})


class EmptyMissingFile(CorrectClient):
    async def fs_read_text_file(self, params: Json) -> Json:
        try:
            return await super().fs_read_text_file(params)
        except RequestFailed:
            return {"content": ""}


class Appends(CorrectClient):
    async def fs_write_text_file(self, params: Json) -> Json:
        before = read_file(params["path"]) or b""
        return await super().fs_write_text_file({**params, "content": before.decode() + params["content"]})


class OnlyExistingFiles(CorrectClient):
    async def fs_write_text_file(self, params: Json) -> Json:
        if read_file(params["path"]) is None:
            raise RequestFailed(-32002, "No such file")
        return await super().fs_write_text_file(params)


class HiddenFiles(CorrectClient):
    capabilities = {"terminal": True}  # noqa: RUF012 - never changed


class HiddenWriting(CorrectClient):
    capabilities = {"fs": {"readTextFile": True}}  # noqa: RUF012 - never changed


class NoExitCode(CorrectClient):
    async def terminal_wait_for_exit(self, params: Json) -> Json:
        return {**await super().terminal_wait_for_exit(params), "exitCode": 0}


class NoExitStatus(CorrectClient):
    async def terminal_output(self, params: Json) -> Json:
        return {**await super().terminal_output(params), "exitStatus": None}


class NoVariables(CorrectClient):
    async def terminal_create(self, params: Json) -> Json:
        return await super().terminal_create({**params, "env": [{"name": "PORTICO_CASE", "value": "other"}]})


class OwnFolder(CorrectClient):
    async def terminal_create(self, params: Json) -> Json:
        return await super().terminal_create({**params, "cwd": None})


class CreatesLate(CorrectClient):
    async def terminal_create(self, params: Json) -> Json:
        created = await super().terminal_create(params)
        await self.terminals[created["terminalId"]].process.wait()
        return created


class AnswersEarly(CorrectClient):
    async def terminal_wait_for_exit(self, params: Json) -> Json:
        return {"exitCode": 0}


class Unlimited(CorrectClient):
    async def terminal_create(self, params: Json) -> Json:
        return await super().terminal_create({**params, "outputByteLimit": None})


class KeepsBeginning(CorrectClient):
    async def terminal_output(self, params: Json) -> Json:
        output = await super().terminal_output(params)
        return {**output, "output": output["output"].replace("end", "é"), "truncated": True}


class SplitsCharacters(CorrectClient):
    async def terminal_output(self, params: Json) -> Json:
        output = await super().terminal_output(params)
        return {**output, "output": "�" + output["output"][2:], "truncated": True}


class KillsNothing(CorrectClient):
    async def terminal_kill(self, params: Json) -> Json:
        return {}


class KillReleases(CorrectClient):
    async def terminal_kill(self, params: Json) -> Json:
        return await super().terminal_release(params)


class KeepsReleased(CorrectClient):
    async def terminal_release(self, params: Json) -> Json:
        await self.end_terminal(self.terminal(params))
        return {}


class LetsReleasedRun(CorrectClient):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.released: list[Terminal] = []

    async def terminal_release(self, params: Json) -> Json:
        self.released.append(self.terminals.pop(params["terminalId"]))
        return {}

    async def run(self) -> None:
        try:
            await super().run()
        finally:
            for terminal in self.released:
                await self.end_terminal(terminal)


class AnyTerminal(CorrectClient):
    async def terminal_output(self, params: Json) -> Json:
        return (
            await super().terminal_output(params)
            if params["terminalId"] in self.terminals
            else {"output": "", "truncated": False}
        )


class HiddenTerminals(CorrectClient):
    capabilities = {"fs": {"readTextFile": True}}  # noqa: RUF012 - never changed


class OneRequestAtATime(CorrectClient):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.lock = asyncio.Lock()

    async def answer(self, message: Json) -> None:
        async with self.lock:
            await super().answer(message)


class DropsCancelled(CorrectClient):
    def read_line(self, line: bytes) -> None:
        super().read_line(line)
        if b'"$/cancel_request"' in line:
            self.dropped = json.loads(line)["params"]["requestId"]

    def send(self, message: Json) -> None:
        if message.get("id") != getattr(self, "dropped", ""):
            super().send(message)


class OwnOption(CorrectClient):
    async def session_request_permission(self, params: Json) -> Json:
        return {"outcome": {"outcome": "selected", "optionId": "yes"}}


class FirstOptions(CorrectClient):
    """Answers later requests with an option of the first."""

    async def session_request_permission(self, params: Json) -> Json:
        self.chosen = getattr(self, "chosen", params["options"][0]["optionId"])
        return {"outcome": {"outcome": "selected", "optionId": self.chosen}}


class WrongValues(CorrectClient):
    async def elicitation_create(self, params: Json) -> Json:
        result = await super().elicitation_create(params)
        return {**result, "content": {**result.get("content", {}), "count": "three"}}


class OwnAction(CorrectClient):
    async def elicitation_create(self, params: Json) -> Json:
        return {"action": "maybe"}


class AnyQuestion(CorrectClient):
    async def elicitation_create(self, params: Json) -> Json:
        return {"action": "cancel"}


class CancelsByRequest(CorrectClient):
    def cancel(self, session: str) -> None:
        self.send({"id": "cancel", "method": "session/cancel", "params": {"sessionId": session}})
        self._cancelled.set()


class CancelsElsewhere(_Edited):
    def edit(self, method: str, params: Json) -> None:
        if method == "session/cancel":
            params["sessionId"] = "another"


class AllowsCancelled(CorrectClient):
    async def session_request_permission(self, params: Json) -> Json:
        await super().session_request_permission(params)
        chosen = params["options"][0]["optionId"]
        return {"outcome": {"outcome": "selected", "optionId": chosen}}


class LeavesPending(CorrectClient):
    async def session_request_permission(self, params: Json) -> Json:
        if self._is_cancelling:
            await asyncio.Event().wait()
        return await super().session_request_permission(params)


class LeavesAtCancel(CorrectClient):
    def read_line(self, line: bytes) -> None:
        if not self._cancelled.is_set():
            super().read_line(line)


class StrictAboutKinds(CorrectClient):
    def show(self, params: Json) -> None:
        known = ("agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan")
        if params["update"]["sessionUpdate"] not in known:
            raise ValueError(params)
        super().show(params)


class StrictAboutUnknown(CorrectClient):
    def show(self, params: Json) -> None:
        if "portico" in params["update"]["sessionUpdate"]:
            raise ValueError(params)
        super().show(params)


class StrictAboutSessions(CorrectClient):
    def show(self, params: Json) -> None:
        if params["sessionId"] != "portico-conformance-session":
            raise ValueError(params)
        super().show(params)


class StrictAboutEarly(CorrectClient):
    async def prompt(self, session: str, text: str) -> None:
        self.is_open = True
        await super().prompt(session, text)

    def show(self, params: Json) -> None:
        if not getattr(self, "is_open", False):
            raise ValueError(params)
        super().show(params)


class StrictAboutMeta(CorrectClient):
    async def session_request_permission(self, params: Json) -> Json:
        if "_meta" in params:
            raise RequestFailed(-32602, "Unknown field _meta")
        return await super().session_request_permission(params)


class SmallBuffer(CorrectClient):
    """Stops when more has come than it can keep."""

    async def read(self) -> None:
        while chunk := await self._stream.read():
            self.kept = getattr(self, "kept", 0) + len(chunk)
            if self.kept > 256 * 1024:
                await asyncio.Event().wait()
            for line in chunk.split(b"\n"):
                self.read_line(line)


class ReversesText(CorrectClient):
    def show(self, params: Json) -> None:
        before, self.shown = self.shown, ""
        super().show(params)
        self.shown += before


class LosesText(CorrectClient):
    def show(self, params: Json) -> None:
        if "portico-020" not in json.dumps(params):
            super().show(params)


class PromptsTwice(CorrectClient):
    async def prompt(self, session: str, text: str) -> None:
        await asyncio.gather(super().prompt(session, text), super().prompt(session, text))


class IdsAsText(CorrectClient):
    def send(self, message: Json) -> None:
        super().send(message if "method" in message else {**message, "id": str(message["id"])})


class AnswersNotifications(CorrectClient):
    def read_line(self, line: bytes) -> None:
        super().read_line(line)
        message = json.loads(line) if line else {}
        if "id" not in message:
            self.send({"id": None, "error": {"code": -32600, "message": "No id"}})


class OtherCode(CorrectClient):
    async def answer(self, message: Json) -> None:
        if "unknown" in message["method"]:
            self.send({"id": message["id"], "error": {"code": -32603, "message": "?"}})
        else:
            await super().answer(message)


class StrictAboutAnswers(CorrectClient):
    def take_answer(self, message: Json) -> None:
        self._waiting.pop(message["id"]).set_result(message)


class StopsAtErrors(CorrectClient):
    def send(self, message: Json) -> None:
        super().send(message)
        self.has_failed = getattr(self, "has_failed", False) or "error" in message

    def read_line(self, line: bytes) -> None:
        if not getattr(self, "has_failed", False):
            super().read_line(line)


class SilentExtensions(CorrectClient):
    async def answer(self, message: Json) -> None:
        if not message["method"].startswith("_"):
            await super().answer(message)


class ReadsOneMessageAtATime(CorrectClient):
    async def read(self) -> None:
        while chunk := await self._stream.read():
            self.read_line(chunk.rstrip(b"\n"))


class SplitsAtUnicode(CorrectClient):
    def read_line(self, line: bytes) -> None:
        for part in line.decode().splitlines():
            super().read_line(part.encode())


class RefusesLargeLines(CorrectClient):
    def read_line(self, line: bytes) -> None:
        if len(line) > 64 * 1024:
            raise ValueError("too long")
        super().read_line(line)


class StopsAtText(CorrectClient):
    def read_line(self, line: bytes) -> None:
        if line:
            json.loads(line)
        super().read_line(line)


class StopsAtOtherJson(CorrectClient):
    def take_answer(self, message: Json) -> None:
        if "result" not in message and "error" not in message:
            raise ValueError(message)
        super().take_answer(message)


class KeepsConnection(CorrectClient):
    keeps_connection = True


class WaitsForever(CorrectClient):
    async def read(self) -> None:
        await super().read()
        await asyncio.Event().wait()


class LogsToAgent(CorrectClient):
    def send(self, message: Json) -> None:
        self._stream.write(b"sending\n")
        super().send(message)


class BothInOne(CorrectClient):
    def send(self, message: Json) -> None:
        super().send({**message, "error": None} if "result" in message else message)


class UntypedAnswer(CorrectClient):
    async def session_request_permission(self, params: Json) -> Json:
        return {"outcome": "selected"}


class OwnField(_Edited):
    def edit(self, method: str, params: Json) -> None:
        params["colour"] = "red"


CLIENT_MUTANTS = (
    ClientMutant("INIT-001", VersionAsText),
    ClientMutant("INIT-001", SessionFirst),
    ClientMutant("INIT-002", Impatient),
    ClientMutant("INIT-003", Anonymous),
    ClientMutant("INIT-004", AnyVersion),
    ClientMutant("AUTH-001", OwnMethod),
    ClientMutant("SESSION-001", RelativeFolder),
    ClientMutant("SESSION-002", ServerOverHttp),
    ClientMutant("SESSION-003", OtherSession),
    ClientMutant("PROMPT-001", SendsImages),
    ClientMutant("PROMPT-001", EmptyPrompt),
    ClientMutant("PROMPT-002", PromptsTwice),
    ClientMutant("METHODS-001", ListsAnyway),
    ClientMutant("FILES-001", ReadsTrimmed),
    ClientMutant("FILES-002", CountsFromZero),
    ClientMutant("FILES-002", NoLimit),
    ClientMutant("FILES-003", EmptyMissingFile),
    ClientMutant("FILES-004", Appends),
    ClientMutant("FILES-005", OnlyExistingFiles),
    ClientMutant("FILES-006", HiddenFiles),
    ClientMutant("FILES-006", HiddenWriting),
    ClientMutant("TERMINALS-001", NoExitCode),
    ClientMutant("TERMINALS-001", NoExitStatus),
    ClientMutant("TERMINALS-002", NoVariables),
    ClientMutant("TERMINALS-002", OwnFolder),
    ClientMutant("TERMINALS-003", CreatesLate, is_silent=True),
    ClientMutant("TERMINALS-003", AnswersEarly),
    ClientMutant("TERMINALS-004", Unlimited),
    ClientMutant("TERMINALS-004", KeepsBeginning),
    ClientMutant("TERMINALS-004", SplitsCharacters),
    ClientMutant("TERMINALS-005", KillsNothing, is_silent=True),
    ClientMutant("TERMINALS-005", KillReleases),
    ClientMutant("TERMINALS-006", KeepsReleased),
    ClientMutant("TERMINALS-006", LetsReleasedRun),
    ClientMutant("TERMINALS-007", AnyTerminal),
    ClientMutant("TERMINALS-008", HiddenTerminals),
    ClientMutant("ORDER-001", OneRequestAtATime, is_silent=True),
    ClientMutant("REQUESTS-001", DropsCancelled, is_silent=True),
    ClientMutant("PERMISSIONS-001", OwnOption),
    ClientMutant("PERMISSIONS-002", FirstOptions),
    ClientMutant("ELICITATION-001", WrongValues),
    ClientMutant("ELICITATION-001", OwnAction),
    ClientMutant("ELICITATION-002", AnyQuestion),
    ClientMutant("CANCEL-001", CancelsByRequest),
    ClientMutant("CANCEL-001", CancelsElsewhere),
    ClientMutant("CANCEL-002", AllowsCancelled),
    ClientMutant("CANCEL-002", LeavesPending, is_silent=True),
    ClientMutant("CANCEL-003", LeavesAtCancel, is_silent=True),
    ClientMutant("CANCEL-004", AllowsCancelled),
    ClientMutant("UPDATES-001", StrictAboutKinds),
    ClientMutant("UPDATES-002", StrictAboutUnknown),
    ClientMutant("UPDATES-002", StrictAboutSessions),
    ClientMutant("UPDATES-003", StrictAboutEarly),
    ClientMutant("META-001", StrictAboutMeta),
    ClientMutant("BACKPRESSURE-001", SmallBuffer, is_silent=True),
    ClientMutant("ORDER-002", ReversesText),
    ClientMutant("ORDER-002", LosesText),
    ClientMutant("JSONRPC-001", IdsAsText, is_silent=True),
    ClientMutant("JSONRPC-002", AnswersNotifications),
    ClientMutant("JSONRPC-003", OtherCode),
    ClientMutant("JSONRPC-004", StrictAboutAnswers),
    ClientMutant("JSONRPC-005", StopsAtErrors, is_silent=True),
    ClientMutant("JSONRPC-006", BothInOne),
    ClientMutant("EXT-001", SilentExtensions, is_silent=True),
    ClientMutant("FRAMES-001", ReadsOneMessageAtATime, is_silent=True),
    ClientMutant("FRAMES-002", SplitsAtUnicode, is_silent=True),
    ClientMutant("FRAMES-003", RefusesLargeLines),
    ClientMutant("FRAMES-004", StopsAtText),
    ClientMutant("FRAMES-005", StopsAtOtherJson),
    ClientMutant("SHUTDOWN-001", KeepsConnection),
    ClientMutant("CRASH-001", WaitsForever),
    ClientMutant("TRANSPORT-001", LogsToAgent),
    ClientMutant("SCHEMA-001", UntypedAnswer),
    ClientMutant("SCHEMA-002", OwnField),
)
