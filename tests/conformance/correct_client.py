"""A small client that keeps every rule of the protocol, and places to break one; also a program, run by a script.

As a program it takes a script of turns, and the command of an agent, or none: then it speaks on its standard streams.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from portico.rpc.streams import ByteStream, StreamClosed

Json = dict[str, Any]
CAPABILITIES: Json = {
    "fs": {"readTextFile": True, "writeTextFile": True},
    "terminal": True,
    "elicitation": {"form": {}},
}


def read_file(path: str) -> bytes | None:
    return Path(path).read_bytes() if Path(path).is_file() else None


def write_file(path: str, content: str) -> None:
    Path(path).write_bytes(content.encode())


class RequestFailed(Exception):
    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Terminal:
    def __init__(self, process: asyncio.subprocess.Process, limit: int | None) -> None:
        self.process = process
        self.output = b""
        self.truncated = False
        self.limit = limit
        self.reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self.process.stdout is not None
        while chunk := await self.process.stdout.read(65536):
            self.output += chunk
            if self.limit is not None and len(self.output) > self.limit:
                self.truncated = True
                self.output = self.output[-self.limit :].lstrip(bytes(range(0x80, 0xC0)))

    @property
    def status(self) -> Json:
        code = self.process.returncode
        if code is None or code >= 0:
            return {"exitCode": code, "signal": None}
        return {"exitCode": None, "signal": str(-code)}


class CorrectClient:
    capabilities: Json = CAPABILITIES

    def __init__(self, stream: ByteStream, folder: Path, turns: Sequence[Json]) -> None:
        self.shown = ""
        self.terminals: dict[str, Terminal] = {}
        self._stream = stream
        self._folder = folder
        self._turns = turns
        self._asked = 0
        self._waiting: dict[int, asyncio.Future[Json]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_cancelling = False
        self._cancelled = asyncio.Event()

    async def run(self) -> None:
        reading = asyncio.create_task(self.read())
        driving = asyncio.create_task(self.drive())
        try:
            await asyncio.wait({reading, driving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (reading, driving, *self._tasks):
                task.cancel()
            await asyncio.gather(reading, driving, *self._tasks, return_exceptions=True)
            for terminal in self.terminals.values():
                await self.end_terminal(terminal)

    async def drive(self) -> None:
        """Actions of the client on its own."""
        greeting = await self.ask(
            "initialize",
            {
                "protocolVersion": 1,
                "clientCapabilities": self.capabilities,
                "clientInfo": {"name": "correct", "version": "1"},
            },
        )
        if greeting.get("protocolVersion") != 1:
            return
        session = await self.open_session(greeting)
        for turn in self._turns:
            self._is_cancelling = turn.get("cancel", False)
            await self.prompt(session, turn["prompt"])

    async def open_session(self, greeting: Json) -> str:
        request = {"cwd": str(self._folder), "mcpServers": []}
        try:
            return str((await self.ask("session/new", request))["sessionId"])
        except RequestFailed as error:
            if error.code != -32000 or not greeting.get("authMethods"):
                raise
            await self.ask("authenticate", {"methodId": greeting["authMethods"][0]["id"]})
            return str((await self.ask("session/new", request))["sessionId"])

    async def prompt(self, session: str, text: str) -> None:
        await self.ask("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": text}]})

    async def read(self) -> None:
        rest = b""
        while chunk := await self._stream.read():
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self.read_line(line)

    def read_line(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            return
        if "method" not in message:
            self.take_answer(message)
        elif "id" in message:
            task = asyncio.create_task(self.answer(message))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        elif message["method"] == "session/update":
            self.show(message["params"])

    def take_answer(self, message: Json) -> None:
        waiting = self._waiting.pop(message.get("id", 0), None)
        if waiting is not None:
            waiting.set_result(message)

    def show(self, params: Json) -> None:
        update = params["update"]
        if update["sessionUpdate"] == "agent_message_chunk":
            self.shown += update["content"].get("text", "")
            if self._is_cancelling and not self._cancelled.is_set():
                self.cancel(params["sessionId"])

    def cancel(self, session: str) -> None:
        self.send({"method": "session/cancel", "params": {"sessionId": session}})
        self._cancelled.set()

    async def ask(self, method: str, params: Json) -> Json:
        self._asked += 1
        answer = self._waiting[self._asked] = asyncio.get_running_loop().create_future()
        self.send({"id": self._asked, "method": method, "params": params})
        message = await answer
        if "error" in message:
            raise RequestFailed(message["error"]["code"], message["error"]["message"])
        return dict(message["result"])

    async def answer(self, message: Json) -> None:
        method = message["method"]
        handle = getattr(self, method.replace("/", "_"), None) if not method.startswith("_") else None
        try:
            if handle is None:
                raise RequestFailed(-32601, f"Unknown method {method}")
            response = {"id": message["id"], "result": await handle(message.get("params") or {})}
        except RequestFailed as error:
            response = {"id": message["id"], "error": {"code": error.code, "message": str(error)}}
        except (KeyError, TypeError) as error:
            text = f"Invalid parameters: {error!r}"
            response = {"id": message["id"], "error": {"code": -32602, "message": text}}
        self.send(response)

    def send(self, message: Json) -> None:
        try:
            self._stream.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        except StreamClosed:
            return

    async def fs_read_text_file(self, params: Json) -> Json:
        found = read_file(params["path"])
        if found is None:
            raise RequestFailed(-32002, f"There is no file {params['path']}")
        lines = found.decode().split("\n")
        first = (params.get("line") or 1) - 1
        limit = params.get("limit")
        return {"content": "\n".join(lines[first : None if limit is None else first + limit])}

    async def fs_write_text_file(self, params: Json) -> Json:
        write_file(params["path"], params["content"])
        return {}

    async def terminal_create(self, params: Json) -> Json:
        process = await asyncio.create_subprocess_exec(
            params["command"],
            *params.get("args", []),
            cwd=params.get("cwd") or self._folder,
            env={**os.environ, **{one["name"]: one["value"] for one in params.get("env", [])}},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        name = f"terminal-{len(self.terminals) + 1}-{process.pid}"
        self.terminals[name] = Terminal(process, params.get("outputByteLimit"))
        return {"terminalId": name}

    def terminal(self, params: Json) -> Terminal:
        if params["terminalId"] not in self.terminals:
            raise RequestFailed(-32002, "There is no such terminal")
        return self.terminals[params["terminalId"]]

    async def terminal_output(self, params: Json) -> Json:
        terminal = self.terminal(params)
        ended = terminal.reading.done() and terminal.process.returncode is not None
        return {
            "output": terminal.output.decode("utf-8", "replace"),
            "truncated": terminal.truncated,
            "exitStatus": terminal.status if ended else None,
        }

    async def terminal_wait_for_exit(self, params: Json) -> Json:
        terminal = self.terminal(params)
        await terminal.process.wait()
        await asyncio.wait({terminal.reading})
        return terminal.status

    async def terminal_kill(self, params: Json) -> Json:
        terminal = self.terminal(params)
        if terminal.process.returncode is None:
            terminal.process.kill()
        return {}

    async def terminal_release(self, params: Json) -> Json:
        terminal = self.terminal(params)
        del self.terminals[params["terminalId"]]
        await self.end_terminal(terminal)
        return {}

    async def end_terminal(self, terminal: Terminal) -> None:
        if terminal.process.returncode is None:
            terminal.process.kill()
        await terminal.process.wait()
        await asyncio.wait({terminal.reading})

    async def session_request_permission(self, params: Json) -> Json:
        options = params["options"]
        chosen = options[0]["optionId"]
        if self._is_cancelling:
            await self._cancelled.wait()
            return {"outcome": {"outcome": "cancelled"}}
        return {"outcome": {"outcome": "selected", "optionId": chosen}}

    async def elicitation_create(self, params: Json) -> Json:
        if params["mode"] != "form":
            raise RequestFailed(-32602, "Only forms")
        values: Json = {"string": "text", "integer": 1, "number": 1.5, "boolean": True}
        fields = params["requestedSchema"]["properties"]
        return {"action": "accept", "content": {name: values[one["type"]] for name, one in fields.items()}}


async def main(script: str, *command: str) -> None:
    """Do the turns of a script with an agent, and print the answers."""
    turns = json.loads(read_file(script) or b"[]")
    if not command:
        from portico.rpc.stdio import standard_streams

        await CorrectClient(await standard_streams(), Path.cwd(), turns).run()
        return
    from portico.rpc.streams import PipeStream

    agent = await asyncio.create_subprocess_exec(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert agent.stdin is not None
    assert agent.stdout is not None
    client = CorrectClient(PipeStream(agent.stdout, agent.stdin), Path.cwd(), turns)
    try:
        await client.run()
    finally:
        agent.stdin.close()
        await agent.wait()
        sys.stdout.write(client.shown)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
