"""A small agent that keeps every rule of the protocol, and a place to break one: each message it sends can be edited.

What a turn does depends on the first word of its prompt, as the conformance kit names its prompts.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

from portico.rpc.streams import ByteStream, MemoryStream, StreamClosed, memory_pair

Json = dict[str, Any]
Edit = Callable[["CorrectAgent", str, Json], Iterable[Json | bytes]]
"""Message sent in place of another; `about` is its method, or the method of the request it answers."""

SELECT = {
    "type": "select",
    "id": "model",
    "name": "Model",
    "currentValue": "small",
    "options": [{"value": "small", "name": "Small"}, {"value": "large", "name": "Large"}],
}
SWITCH = {"type": "boolean", "id": "brave", "name": "Brave", "currentValue": False}
MODES = {
    "currentModeId": "ask",
    "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "code", "name": "Code"}],
}
CAPABILITIES: Json = {
    "loadSession": True,
    "promptCapabilities": {"image": True, "audio": True, "embeddedContext": True},
    "mcpCapabilities": {"acp": True},
    "sessionCapabilities": {
        name: {} for name in ("list", "resume", "close", "delete", "additionalDirectories")
    },
    "auth": {"logout": {}},
}


class RequestFailed(Exception):
    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class CorrectAgent:
    log = "Ready\n"
    """Standard error."""

    def __init__(self, stream: ByteStream, sessions: dict[str, list[Json]], edit: Edit | None = None) -> None:
        self.client: Json = {}
        self.sessions = sessions
        """Messages of each session; they outlive the process."""
        self.signed_in = False
        self._stream = stream
        self._edit = edit
        self._asked = 0
        self._waiting: dict[int, asyncio.Future[Json]] = {}
        self._cancelled: dict[str, asyncio.Event] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        rest = b""
        while chunk := await self._stream.read():
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self.read_line(line)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def read_line(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            return
        if "method" not in message:
            if message.get("id") in self._waiting:
                self._waiting.pop(message["id"]).set_result(message)
        elif "id" in message:
            task = asyncio.create_task(self._answer(message))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        elif message["method"] == "session/cancel":
            self.cancel(message["params"]["sessionId"])

    def cancel(self, session_id: str) -> None:
        if session_id in self._cancelled:
            self._cancelled[session_id].set()

    def send(self, about: str, message: Json) -> None:
        edited: Iterable[Json | bytes] = [message] if self._edit is None else self._edit(self, about, message)
        for one in edited:
            line = one if isinstance(one, bytes) else json.dumps({"jsonrpc": "2.0", **one}).encode() + b"\n"
            try:
                self._stream.write(line)
            except StreamClosed:
                return

    def update(self, session_id: str, **update: Any) -> None:
        params = {"sessionId": session_id, "update": update}
        self.send("session/update", {"method": "session/update", "params": params})

    async def ask(self, method: str, params: Json) -> Json:
        self._asked += 1
        answer = self._waiting[self._asked] = asyncio.get_running_loop().create_future()
        self.send(method, {"id": self._asked, "method": method, "params": params})
        return dict(await answer)

    async def _answer(self, message: Json) -> None:
        method = message["method"]
        handle = getattr(self, method.replace("/", "_"), None) if not method.startswith("_") else None
        try:
            if handle is None:
                raise RequestFailed(-32601, f"Unknown method {method}")
            response = {"id": message["id"], "result": await handle(message.get("params") or {})}
        except RequestFailed as error:
            response = {"id": message["id"], "error": {"code": error.code, "message": str(error)}}
        except (KeyError, TypeError) as error:
            response = {
                "id": message["id"],
                "error": {"code": -32602, "message": f"Invalid parameters: {error!r}"},
            }
        self.send(method, response)

    async def initialize(self, params: Json) -> Json:
        self.client = params.get("clientCapabilities", {})
        methods = [{"id": "key", "name": "Key"}]
        if self.client.get("auth", {}).get("terminal"):
            methods.append({"id": "shell", "name": "Shell", "type": "terminal"})
        return {
            "protocolVersion": 1,
            "agentCapabilities": CAPABILITIES,
            "authMethods": methods,
            "agentInfo": {"name": "correct", "version": "1"},
        }

    async def authenticate(self, params: Json) -> Json:
        self.signed_in = True
        return {}

    async def logout(self, params: Json) -> Json:
        return {}

    async def session_new(self, params: Json) -> Json:
        session_id = f"session-{len(self.sessions) + 1}"
        self.sessions[session_id] = []
        return {"sessionId": session_id, "modes": MODES, "configOptions": self._options("small")}

    def _options(self, model: str) -> list[Json]:
        brave = self.client.get("session", {}).get("configOptions", {}).get("boolean") is not None
        return [{**SELECT, "currentValue": model}, *([SWITCH] if brave else [])]

    def _said(self, params: Json) -> list[Json]:
        if params["sessionId"] not in self.sessions:
            raise RequestFailed(-32002, f"Unknown session {params['sessionId']}")
        return self.sessions[params["sessionId"]]

    async def session_load(self, params: Json) -> Json:
        for update in self._said(params):
            self.update(params["sessionId"], **update)
        return {}

    async def session_resume(self, params: Json) -> Json:
        self._said(params)
        return {}

    async def session_list(self, params: Json) -> Json:
        listed = [{"sessionId": one, "cwd": "/work"} for one in self.sessions]
        if params.get("cwd", "").endswith("unused"):
            return {"sessions": []}
        first = int(params.get("cursor") or 0)
        page: Json = {"sessions": listed[first : first + 40]}
        return {**page, "nextCursor": str(first + 40)} if len(listed) > first + 40 else page

    async def session_delete(self, params: Json) -> Json:
        self.sessions.pop(params["sessionId"], None)
        return {}

    async def session_close(self, params: Json) -> Json:
        self.cancel(params["sessionId"])
        return {}

    async def session_set_mode(self, params: Json) -> Json:
        if params["modeId"] not in ("ask", "code"):
            raise RequestFailed(-32602, f"Unknown mode {params['modeId']}")
        self.update(params["sessionId"], sessionUpdate="current_mode_update", currentModeId=params["modeId"])
        return {}

    async def session_set_config_option(self, params: Json) -> Json:
        return {"configOptions": self._options(params["value"])}

    async def session_prompt(self, params: Json) -> Json:
        said = self._said(params)
        session_id, text = params["sessionId"], params["prompt"][0]["text"]
        said.append({"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": text}})
        self._cancelled[session_id] = asyncio.Event()
        turns: dict[str, Callable[[str], Awaitable[str]]] = {
            "cancel": self._wait,
            "read": self._read,
            "terminal": self._run,
            "permission": self._ask_permission,
            "question": self._ask_question,
        }
        stop_reason = await turns.get(text, self._speak)(session_id)
        del self._cancelled[session_id]
        return {"stopReason": stop_reason}

    async def _speak(self, session_id: str) -> str:
        update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "OK"}}
        self.sessions[session_id].append(update)
        self.update(session_id, **update)
        return "end_turn"

    async def _wait(self, session_id: str) -> str:
        await self._speak(session_id)
        await self._cancelled[session_id].wait()
        return "cancelled"

    async def _read(self, session_id: str) -> str:
        if self.client.get("fs", {}).get("readTextFile"):
            params = {"sessionId": session_id, "path": "/work/conformance.txt", "line": 1}
            await self.ask("fs/read_text_file", params)
        return await self._speak(session_id)

    async def _run(self, session_id: str) -> str:
        if self.client.get("terminal"):
            created = await self.ask("terminal/create", {"sessionId": session_id, "command": "echo"})
            params = {"sessionId": session_id, "terminalId": created["result"]["terminalId"]}
            for method in ("terminal/wait_for_exit", "terminal/output", "terminal/release"):
                await self.ask(method, params)
        return await self._speak(session_id)

    async def _ask_permission(self, session_id: str) -> str:
        call = {"toolCallId": "write-1", "title": "Write", "kind": "edit", "status": "pending"}
        self.update(session_id, sessionUpdate="tool_call", **call)
        options = [
            {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
            {"optionId": "no", "name": "No", "kind": "reject_once"},
        ]
        params = {"sessionId": session_id, "toolCall": {"toolCallId": "write-1"}, "options": options}
        answer = await self.ask("session/request_permission", params)
        self.update(session_id, sessionUpdate="tool_call_update", toolCallId="write-1", status="failed")
        return "cancelled" if answer["result"]["outcome"]["outcome"] == "cancelled" else "end_turn"

    async def _ask_question(self, session_id: str) -> str:
        if (self.client.get("elicitation") or {}).get("form") is not None:
            form = {"type": "object", "properties": {"colour": {"type": "string"}}}
            params = {"sessionId": session_id, "mode": "form", "message": "Colour?", "requestedSchema": form}
            await self.ask("elicitation/create", params)
        return await self._speak(session_id)


class MemoryAgent:
    """An agent inside the test, as the kit starts it: its sessions outlive its connections."""

    def __init__(self, agent: type[CorrectAgent] = CorrectAgent, edit: Edit | None = None) -> None:
        self._agent = agent
        self._edit = edit
        self._sessions: dict[str, list[Json]] = {}

    async def start(self) -> "RunningAgent":
        near, far = memory_pair()
        return RunningAgent(near, far, self._agent(far, self._sessions, self._edit))


class RunningAgent:
    stderr_size = 0

    def __init__(self, stream: MemoryStream, far: MemoryStream, agent: CorrectAgent) -> None:
        self.stream = stream
        self._far = far
        self._agent = agent
        self._task = asyncio.create_task(self._run(agent))

    def stderr_tail(self) -> str:
        return self._agent.log

    async def wait(self) -> str:
        await asyncio.wait((self._task,))
        return "exit code 0"

    async def stop(self, *, kill: bool = False) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self, agent: CorrectAgent) -> None:
        try:
            await agent.run()
        finally:
            await self._far.close()


class KeptSessions(dict[str, list[Json]]):
    """Sessions in a file."""

    def __init__(self, path: Path) -> None:
        super().__init__(json.loads(path.read_text()) if path.exists() else {})
        self._path = path

    def save(self) -> None:
        self._path.write_text(json.dumps(self))


async def main(path: Path) -> None:
    """Run the agent as a program, over standard input and output; its sessions are kept in a file."""
    from portico.rpc.stdio import standard_streams

    sessions = KeptSessions(path)

    def save_first(_agent: CorrectAgent, _about: str, message: Json) -> Iterable[Json]:
        sessions.save()
        return [message]

    await CorrectAgent(await standard_streams(), sessions, save_first).run()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
