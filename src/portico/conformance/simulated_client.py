"""The client that an agent under test talks to: files beneath one folder, terminals that run nothing, set answers."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from msgspec import Raw

from portico.acp import _schema as schema
from portico.conformance.dialogue import ServedMethod
from portico.domain import codecs
from portico.rpc.messages import INVALID_PARAMS, RpcError

RESOURCE_NOT_FOUND = -32002
TERMINAL_OUTPUT = "conformance\n"

FULL_CAPABILITIES = schema.ClientCapabilities(
    fs=schema.FileSystemCapabilities(read_text_file=True, write_text_file=True),
    terminal=True,
    session=schema.ClientSessionCapabilities(
        config_options=schema.SessionConfigOptionsCapabilities(
            boolean=schema.BooleanConfigOptionCapabilities()
        )
    ),
    auth=schema.AuthCapabilities(terminal=True),
    elicitation=schema.ElicitationCapabilities(
        form=schema.ElicitationFormCapabilities(), url=schema.ElicitationUrlCapabilities()
    ),
)
NO_CAPABILITIES = schema.ClientCapabilities()

PermissionAnswer = Literal["allow", "reject", "hold"]


class SimulatedClient:
    """Serves what `capabilities` announce. Permission requests are rejected unless a case sets another answer."""

    def __init__(self, capabilities: schema.ClientCapabilities, folder: Path) -> None:
        self.capabilities = capabilities
        self.permission: PermissionAnswer = "reject"
        self.released = asyncio.Event()
        """Answers permission requests that are held, as cancelled."""
        self._folder = folder.resolve()
        self.terminals: list[str] = []
        """The ids of all terminals that were made."""

    def methods(self) -> Mapping[str, ServedMethod]:
        served: dict[str, ServedMethod] = {"session/request_permission": self._decide}
        if self.capabilities.fs.read_text_file:
            served |= {"fs/read_text_file": self._read, "fs/write_text_file": self._write}
        if self.capabilities.terminal:
            served |= {
                "terminal/create": self._create_terminal,
                "terminal/output": self._terminal_output,
                "terminal/wait_for_exit": self._wait_for_exit,
                "terminal/kill": self._end_terminal,
                "terminal/release": self._end_terminal,
            }
        if self.capabilities.elicitation is not None:
            served["elicitation/create"] = self._decline
        return served

    async def _decide(self, params: Raw) -> schema.RequestPermissionResponse:
        request = codecs.decode_json(params, schema.RequestPermissionRequest)
        if self.permission == "hold":
            await self.released.wait()
            return schema.RequestPermissionResponse(outcome=schema.CancelledPermissionOutcome())
        wanted = (
            ("allow_once", "allow_always") if self.permission == "allow" else ("reject_once", "reject_always")
        )
        fitting = [option.option_id for option in request.options if option.kind in wanted]
        if not fitting:
            return schema.RequestPermissionResponse(outcome=schema.CancelledPermissionOutcome())
        chosen = schema.SelectedPermissionOutcome(option_id=fitting[0])
        return schema.RequestPermissionResponse(outcome=chosen)

    async def _read(self, params: Raw) -> schema.ReadTextFileResponse:
        request = codecs.decode_json(params, schema.ReadTextFileRequest)
        path = self._inside(request.path)
        if not path.is_file():
            raise RpcError(RESOURCE_NOT_FOUND, f"There is no file {request.path}")
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
        first = (request.line or 1) - 1
        last = None if request.limit is None else first + request.limit
        return schema.ReadTextFileResponse(content="".join(lines[first:last]))

    async def _write(self, params: Raw) -> schema.WriteTextFileResponse:
        request = codecs.decode_json(params, schema.WriteTextFileRequest)
        path = self._inside(request.path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(request.content, encoding="utf-8")
        return schema.WriteTextFileResponse()

    def _inside(self, path: str) -> Path:
        found = Path(path).resolve()
        if not found.is_relative_to(self._folder):
            raise RpcError(INVALID_PARAMS, f"{path} is not beneath the folder of the session")
        return found

    async def _create_terminal(self, params: Raw) -> schema.CreateTerminalResponse:
        codecs.decode_json(params, schema.CreateTerminalRequest)
        self.terminals.append(f"terminal-{len(self.terminals) + 1}")
        return schema.CreateTerminalResponse(terminal_id=self.terminals[-1])

    async def _terminal_output(self, params: Raw) -> schema.TerminalOutputResponse:
        codecs.decode_json(params, schema.TerminalOutputRequest)
        ended = schema.TerminalExitStatus(exit_code=0)
        return schema.TerminalOutputResponse(output=TERMINAL_OUTPUT, truncated=False, exit_status=ended)

    async def _wait_for_exit(self, params: Raw) -> schema.WaitForTerminalExitResponse:
        codecs.decode_json(params, schema.WaitForTerminalExitRequest)
        return schema.WaitForTerminalExitResponse(exit_code=0)

    async def _end_terminal(self, params: Raw) -> schema.ReleaseTerminalResponse:
        codecs.decode_json(params, schema.ReleaseTerminalRequest)
        return schema.ReleaseTerminalResponse()

    async def _decline(self, params: Raw) -> schema.CreateElicitationResponse:
        codecs.decode_json(params, schema.CreateElicitationRequest)
        return schema.CreateElicitationResponse(action="decline")
