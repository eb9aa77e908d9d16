"""An agent made with the official Python SDK. What it does depends on the prompt.

everything   text, thoughts, a plan, files, a diff with a permission, a terminal
wait         says a word and waits to be cancelled
write F T    writes the text T to the file F through the client
save F T     writes it by itself
anything     is said back

Usage: python sdk_agent.py FOLDER        what was said is kept in FOLDER, one file a session
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

from acp import (
    PROTOCOL_VERSION,
    InitializeResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PromptResponse,
    RequestError,
    plan_entry,
    resource_link_block,
    run_agent,
    start_tool_call,
    tool_diff_content,
    tool_terminal_ref,
    update_agent_message,
    update_agent_message_text,
    update_agent_thought_text,
    update_plan,
    update_tool_call,
)
from acp.helpers import update_available_commands
from acp.interfaces import Client
from acp.schema import (
    AgentCapabilities,
    AvailableCommand,
    AvailableCommandInput,
    EnvVariable,
    Implementation,
    PermissionOption,
    SessionInfoUpdate,
    ToolCallLocation,
    ToolCallUpdate,
    UnstructuredCommandInput,
    UsageUpdate,
)


class PythonPeer:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._client: Client | None = None
        self._workspaces: dict[str, Path] = {}
        self._cancelled = asyncio.Event()

    @property
    def client(self) -> Client:
        assert self._client is not None
        return self._client

    def on_connect(self, conn: Client) -> None:
        self._client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        return InitializeResponse(
            protocol_version=min(protocol_version, PROTOCOL_VERSION),
            agent_capabilities=AgentCapabilities(load_session=True),
            agent_info=Implementation(name="python-peer", version="1.0.0"),
        )

    async def new_session(self, cwd: str, **_: Any) -> NewSessionResponse:
        session_id = f"py-{uuid4().hex}"
        self._workspaces[session_id] = Path(cwd)
        self._keep(session_id, None)
        return NewSessionResponse(session_id=session_id)

    async def load_session(self, cwd: str, session_id: str, **_: Any) -> LoadSessionResponse:
        path = self._folder / session_id
        if not path.exists():
            raise RequestError.resource_not_found(session_id)
        self._workspaces[session_id] = Path(cwd)
        for line in path.read_text(encoding="utf-8").splitlines():
            await self._update(session_id, update_agent_message_text(json.loads(line)))
        return LoadSessionResponse()

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> PromptResponse:
        text = "".join(block.text for block in prompt if block.type == "text")
        if text == "everything":
            await self._everything(session_id)
        elif text == "wait":
            await self._say(session_id, "waiting")
            await self._cancelled.wait()
            return PromptResponse(stop_reason="cancelled")
        elif text.startswith(("write ", "save ")):
            how, name, content = text.split(" ", 2)
            path = self._workspaces[session_id] / name
            if how == "save":
                path.write_text(content, encoding="utf-8")
            else:
                await self.client.write_text_file(session_id=session_id, path=str(path), content=content)
        else:
            await self._say(session_id, text)
        return PromptResponse(stop_reason="end_turn")

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method != "peer/weather":
            raise RequestError.method_not_found(method)
        heard = {"sessionId": params["sessionId"], "place": params["place"]}
        await self.client.ext_notification("peer/asked", heard)
        return {"place": params["place"], "weather": "fair"}

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        await self.client.ext_notification("peer/heard", {**params, "method": method})

    async def cancel(self, session_id: str, **_: Any) -> None:
        self._cancelled.set()

    async def _everything(self, session_id: str) -> None:
        path = str(self._workspaces[session_id] / "notes.txt")
        await self._say(session_id, "Hello, ")
        await self._say(session_id, "Wörld 🏛\r\n")
        await self._update(session_id, update_agent_thought_text("thinking"))
        await self._update(session_id, update_plan([plan_entry("read", priority="high", status="completed")]))
        await self._announce(session_id)
        before = (await self.client.read_text_file(session_id=session_id, path=path)).content
        part = await self.client.read_text_file(session_id=session_id, path=path, line=2, limit=1)
        await self._say(session_id, f"line 2: {part.content}")
        await self._edit(session_id, path, before)
        await self._command(session_id)

    async def _announce(self, session_id: str) -> None:
        hint = AvailableCommandInput(root=UnstructuredCommandInput(hint="what"))
        review = AvailableCommand(name="review", description="Reviews", input=hint)
        await self._update(session_id, update_available_commands([review]))
        title = SessionInfoUpdate(session_update="session_info_update", title="A title of its own")
        await self._update(session_id, title)
        await self._update(session_id, UsageUpdate(session_update="usage_update", used=10, size=100))
        link = resource_link_block("notes", "file:///notes.txt")
        await self._update(session_id, update_agent_message(link))

    async def _edit(self, session_id: str, path: str, old: str) -> None:
        new = old.replace("world", "wörld")
        call = start_tool_call(
            "edit-1",
            "Edit notes.txt",
            kind="edit",
            status="pending",
            locations=[ToolCallLocation(path=path, line=1)],
            content=[tool_diff_content(path, new, old)],
            raw_input={"path": path},
        )
        await self._update(session_id, call)
        options = [
            PermissionOption(option_id="yes", name="Yes", kind="allow_once"),
            PermissionOption(option_id="no", name="No", kind="reject_once"),
        ]
        answer = await self.client.request_permission(
            session_id=session_id, tool_call=ToolCallUpdate(tool_call_id="edit-1"), options=options
        )
        if answer.outcome.outcome == "selected" and answer.outcome.option_id == "yes":
            await self.client.write_text_file(session_id=session_id, path=path, content=new)
            await self._update(
                session_id, update_tool_call("edit-1", status="completed", raw_output={"written": True})
            )
        else:
            await self._update(session_id, update_tool_call("edit-1", status="failed"))
            await self._say(session_id, f"permission: {answer.outcome.outcome} no")

    async def _command(self, session_id: str) -> None:
        terminal = await self.client.create_terminal(
            session_id=session_id,
            command="sh",
            args=["-c", 'printf "one\\ntwo $GREETING\\n"; exit 3'],
            env=[EnvVariable(name="GREETING", value="héllo")],
        )
        place = {"session_id": session_id, "terminal_id": terminal.terminal_id}
        call = start_tool_call(
            "run-1",
            "sh",
            kind="execute",
            status="in_progress",
            content=[tool_terminal_ref(terminal.terminal_id)],
        )
        await self._update(session_id, call)
        ended = await self.client.wait_for_terminal_exit(**place)
        shown = await self.client.terminal_output(**place)
        await self.client.release_terminal(**place)
        await self._update(session_id, update_tool_call("run-1", status="failed"))
        words = f"exit {ended.exit_code}, truncated {str(shown.truncated).lower()}: {shown.output}"
        await self._say(session_id, words)

    async def _say(self, session_id: str, text: str) -> None:
        self._keep(session_id, text)
        await self._update(session_id, update_agent_message_text(text))

    async def _update(self, session_id: str, update: Any) -> None:
        await self.client.session_update(session_id=session_id, update=update)

    def _keep(self, session_id: str, text: str | None) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / session_id).open("a", encoding="utf-8") as file:
            file.write("" if text is None else json.dumps(text) + "\n")


if __name__ == "__main__":
    asyncio.run(run_agent(PythonPeer(Path(sys.argv[1]))))  # type: ignore[arg-type]
