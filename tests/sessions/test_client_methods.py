"""Client methods that an agent may call, and how the host refuses."""

from pathlib import Path

import pytest

from portico.acp import _schema as acp
from portico.acp.connection import RESOURCE_NOT_FOUND
from portico.domain.values import TerminalOutput
from portico.editors.local import LocalEditorProvider
from portico.rpc.messages import INVALID_PARAMS, RpcError
from portico.sessions.ports import TerminalRequest
from portico.sessions.requests.client_methods import client_methods


async def never_asked(request: acp.RequestPermissionRequest) -> acp.RequestPermissionResponse:
    raise AssertionError("nobody asked for a permission")


ASKING = {"session/request_permission": never_asked}


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


class Nothing:
    """Records nothing."""

    def heard(self, output: TerminalOutput) -> None: ...

    def ran(self, terminal_id: str, request: TerminalRequest) -> None: ...

    def settled(self, terminal_id: str) -> None: ...

    def has_tool_call(self, path: str) -> bool:
        return True

    async def text_before(self, path: str) -> str | None:
        raise AssertionError("every write is told here")

    def wrote(self, path: str, old: str | None, new: str) -> None: ...


@pytest.mark.parametrize(
    ("method", "request_"),
    [
        ("fs/write_text_file", acp.WriteTextFileRequest(session_id="s", path="a.txt", content="x")),
        ("terminal/create", acp.CreateTerminalRequest(session_id="s", command="touch", args=["a.txt"])),
    ],
)
async def test_a_session_that_only_reads_writes_and_runs_nothing(
    tmp_path: Path, method: str, request_: acp.Wire
) -> None:
    editor = LocalEditorProvider({}).open(tmp_path)
    serve = client_methods(editor, ASKING, Nothing(), reads_only=True)
    with pytest.raises(RpcError, match="read-only") as caught:
        await serve[method](request_)
    assert caught.value.code == INVALID_PARAMS
    assert names_in(tmp_path) == []


async def test_a_session_that_only_reads_does_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("here")
    serve = client_methods(LocalEditorProvider({}).open(tmp_path), ASKING, Nothing(), reads_only=True)
    answer = await serve["fs/read_text_file"](acp.ReadTextFileRequest(session_id="s", path="a.txt"))
    assert answer.content == "here"


async def test_a_file_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    serve = client_methods(LocalEditorProvider({}).open(tmp_path), ASKING, Nothing(), reads_only=False)
    with pytest.raises(RpcError, match=r"gone\.txt does not exist") as caught:
        await serve["fs/read_text_file"](acp.ReadTextFileRequest(session_id="s", path="gone.txt"))
    assert caught.value.code == RESOURCE_NOT_FOUND
