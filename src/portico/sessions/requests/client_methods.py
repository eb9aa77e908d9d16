"""ACP client methods served to the agent: files, terminals, permission requests and questions.

Only capabilities of the session's editor are announced and served.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from portico.acp import _schema as acp
from portico.acp import extensions
from portico.acp.connection import RESOURCE_NOT_FOUND, MethodHandler
from portico.domain.errors import FileMissing, InvalidInput, PermissionDenied, PorticoError
from portico.domain.values import TerminalOutput
from portico.rpc.messages import INTERNAL_ERROR, INVALID_PARAMS, RpcError
from portico.sessions.ports import Editor, EditorFiles, EditorTerminals, TerminalRequest, TerminalSnapshot

ASKS_FORMS_AND_PAGES = acp.ElicitationCapabilities(
    form=acp.ElicitationFormCapabilities(), url=acp.ElicitationUrlCapabilities()
)


def client_capabilities(editor: Editor) -> acp.ClientCapabilities:
    has_files = editor.files is not None
    return acp.ClientCapabilities(
        fs=acp.FileSystemCapabilities(read_text_file=has_files, write_text_file=has_files),
        terminal=editor.terminals is not None,
        auth=acp.AuthCapabilities(terminal=True),
        elicitation=ASKS_FORMS_AND_PAGES,
        plan=acp.PlanCapabilities(),
        meta=extensions.to_meta(extensions.PorticoCapabilities(permissions=extensions.VERSION)),
        session=acp.ClientSessionCapabilities(
            compaction=acp.CompactionCapabilities(),
            notices=acp.NoticeCapabilities(),
            config_options=acp.SessionConfigOptionsCapabilities(
                boolean=acp.BooleanConfigOptionCapabilities()
            ),
        ),
    )


def login_capabilities() -> acp.ClientCapabilities:
    """Capabilities of a client that only logs in."""
    return acp.ClientCapabilities(auth=acp.AuthCapabilities(terminal=True), elicitation=ASKS_FORMS_AND_PAGES)


class ClientCallListener(Protocol):
    """Gets every command and file write of an agent."""

    def heard(self, output: TerminalOutput) -> None: ...

    def ran(self, terminal_id: str, request: TerminalRequest) -> None: ...

    def settled(self, terminal_id: str) -> None: ...

    def has_tool_call(self, path: str) -> bool: ...

    async def text_before(self, path: str) -> str | None: ...

    def wrote(self, path: str, old: str | None, new: str) -> None: ...


def client_methods(
    editor: Editor, asking: Mapping[str, MethodHandler], record: ClientCallListener, *, reads_only: bool
) -> dict[str, MethodHandler]:
    """The methods that an agent may call; `asking` are those that ask the person."""
    served = dict(asking)
    if editor.files is not None:
        served |= _serve_files(editor.files, record)
    if editor.terminals is not None:
        served |= _serve_terminals(editor.terminals, record)
    if reads_only:
        served |= {method: _refuse for method in _WRITING if method in served}
    return {method: _translate_errors(serve) for method, serve in served.items()}


_WRITING = ("fs/write_text_file", "terminal/create")


async def _refuse(_: Any) -> None:
    raise PermissionDenied("This session is read-only: it writes no files and runs no commands.")


def _serve_files(files: EditorFiles, record: ClientCallListener) -> dict[str, MethodHandler]:
    async def read(request: acp.ReadTextFileRequest) -> acp.ReadTextFileResponse:
        return acp.ReadTextFileResponse(
            content=await files.read_text(request.path, line=request.line, limit=request.limit)
        )

    async def write(request: acp.WriteTextFileRequest) -> acp.WriteTextFileResponse:
        if record.has_tool_call(request.path):
            await files.write_text(request.path, request.content)
        else:
            old = await record.text_before(request.path)
            await files.write_text(request.path, request.content)
            record.wrote(request.path, old, request.content)
        return acp.WriteTextFileResponse()

    return {"fs/read_text_file": read, "fs/write_text_file": write}


def _serve_terminals(terminals: EditorTerminals, record: ClientCallListener) -> dict[str, MethodHandler]:
    async def create(request: acp.CreateTerminalRequest) -> acp.CreateTerminalResponse:
        wanted = TerminalRequest(
            command=request.command,
            args=tuple(request.args),
            env={variable.name: variable.value for variable in request.env},
            cwd=request.cwd,
            output_byte_limit=request.output_byte_limit,
        )
        terminal_id = await terminals.create(wanted, record.heard)
        record.ran(terminal_id, wanted)
        return acp.CreateTerminalResponse(terminal_id=terminal_id)

    async def output(request: acp.TerminalOutputRequest) -> acp.TerminalOutputResponse:
        now = terminals.snapshot(request.terminal_id)
        return acp.TerminalOutputResponse(
            output=now.output, truncated=now.truncated, exit_status=_exit_status(now) if now.ended else None
        )

    async def wait(request: acp.WaitForTerminalExitRequest) -> acp.WaitForTerminalExitResponse:
        ended = await terminals.wait(request.terminal_id)
        record.settled(request.terminal_id)
        return acp.WaitForTerminalExitResponse(exit_code=ended.exit_code, signal=ended.signal)

    async def kill(request: acp.KillTerminalRequest) -> acp.KillTerminalResponse:
        await terminals.kill(request.terminal_id)
        return acp.KillTerminalResponse()

    async def release(request: acp.ReleaseTerminalRequest) -> acp.ReleaseTerminalResponse:
        await terminals.release(request.terminal_id)
        record.settled(request.terminal_id)
        return acp.ReleaseTerminalResponse()

    return {
        "terminal/create": create,
        "terminal/output": output,
        "terminal/wait_for_exit": wait,
        "terminal/kill": kill,
        "terminal/release": release,
    }


def _exit_status(ended: TerminalSnapshot) -> acp.TerminalExitStatus:
    return acp.TerminalExitStatus(exit_code=ended.exit_code, signal=ended.signal)


def _translate_errors(serve: MethodHandler) -> MethodHandler:
    """Translate Portico's errors into those of the protocol, so that the agent can act on them."""

    async def answer(request: Any) -> Any:
        try:
            return await serve(request)
        except FileMissing as error:
            raise RpcError(RESOURCE_NOT_FOUND, error.message) from error
        except (InvalidInput, PermissionDenied) as error:
            raise RpcError(INVALID_PARAMS, error.message) from error
        except PorticoError as error:
            raise RpcError(INTERNAL_ERROR, error.message) from error

    return answer
