"""Connection to the user's server, found by its lock, record and token, or started on request."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from os import PathLike
from pathlib import Path

import msgspec

from portico.api.fields import to_enum
from portico.api.v1 import agent_pb as pb
from portico.api.v1.agent_client import AgentServiceClient
from portico.client.discovery import RunningServer, find_server
from portico.client.server_calls import ServerAddress, ServerCalls
from portico.client.session import Session, from_summary
from portico.config.paths import state_folder
from portico.config.server_files import ServerFiles
from portico.domain import codecs
from portico.domain.errors import DeveloperMustAct, InvalidInput, ServerLost, SessionNotFound
from portico.domain.reviews import ReviewMode
from portico.files.regular import read_regular

_MAX_LISTED = 1000
_MAX_TOKEN_BYTES = 1024


class Client:
    """The sessions of the user's server, as returned by `connect`."""

    def __init__(self, calls: ServerCalls) -> None:
        self._calls = calls

    async def list_sessions(
        self, workspace: str | PathLike[str] | None = None, *, search: str = "", limit: int = 50
    ) -> list[Session]:
        """The sessions of a folder, or of all folders, most recently used first.

        `search` has words that the title, the folder or the agent must contain.
        """
        request = pb.ListSessionsRequest(
            workspace=_full_path(workspace),
            search=search,
            limit=min(limit, _MAX_LISTED),
        )
        found = await self._calls.call(AgentServiceClient.list_sessions, request)
        return [Session(self._calls, from_summary(one)) for one in found.sessions]

    async def start_session(
        self,
        workspace: str | PathLike[str] | None = None,
        *,
        agent: str | None = None,
        mode: ReviewMode | None = None,
        reads_only: bool = False,
    ) -> Session:
        """Start a session in a folder; the default is the folder that the server was started in.

        Without `agent` and `mode`, the settings choose. A session that `reads_only` writes and runs nothing.
        """
        request = pb.StartSessionRequest(
            workspace=_full_path(workspace),
            agent=agent or "",
            reads_only=reads_only,
            mode=to_enum(pb.ReviewMode, mode),
        )
        started = await self._calls.call(AgentServiceClient.start_session, request)
        return self._session(started.session)

    async def get_session(self, session_id: str) -> Session:
        """The session with this ID. SessionNotFound if there is none."""
        request = pb.GetSessionRequest(session_id=session_id)
        found = await self._calls.call(AgentServiceClient.get_session, request)
        return self._session(found.session)

    async def delete_session(self, session_id: str, *, discard_proposals: bool = False) -> None:
        """Delete a session permanently. InvalidInput if it has open proposals, unless they are to be discarded."""
        request = pb.ClearSessionRequest(session_id=session_id, discard_proposals=discard_proposals)
        await self._calls.call(AgentServiceClient.clear_session, request)

    def _session(self, detail: pb.SessionDetail | None) -> Session:
        if detail is None or detail.summary is None:
            raise SessionNotFound("The server did not return the session.")
        return Session(self._calls, from_summary(detail.summary))


def _full_path(workspace: str | PathLike[str] | None) -> str:
    return "" if workspace is None else str(Path(workspace).resolve())


@asynccontextmanager
async def connect(
    *,
    start: bool = False,
    environ: Mapping[str, str] | None = None,
    url: str = "",
    token_file: str | PathLike[str] | None = None,
) -> AsyncIterator[Client]:
    """Connect to the user's server on this machine.

    With `start`, a server is started in the background if none is running; it keeps running afterwards. The
    server is that of the state folder (`PORTICO_HOME`) of `environ`, by default the environment of this process.

    With `url` and `token_file`, it is the server at that address, such as one of another home or one
    behind a forwarded port. The file has its token.

    Raises `ServerLost` if no server is running and none is to be started, `InvalidInput` if the token cannot be read.
    """
    if url or token_file is not None:
        address = await asyncio.to_thread(_given_address, url, token_file)

        async def find_given() -> ServerAddress:
            return address

        yield Client(ServerCalls(find_given))
        return
    environ = dict(os.environ if environ is None else environ)
    files = ServerFiles(state_folder(environ))
    if start and not isinstance(await asyncio.to_thread(find_server, files), RunningServer):
        await _start_server(environ)
    await _find_address(files)
    yield Client(ServerCalls(lambda: _find_address(files)))


def _given_address(url: str, token_file: str | PathLike[str] | None) -> ServerAddress:
    if not url or token_file is None:
        raise InvalidInput("To connect to a server with another home, give both url and token_file.")
    try:
        token = read_regular(Path(token_file), limit=_MAX_TOKEN_BYTES).decode("ascii").strip()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it has no token"
        raise InvalidInput(f"The token in {token_file} cannot be read: {why}.") from error
    return ServerAddress(url=url.rstrip("/"), token=token)


async def _find_address(files: ServerFiles) -> ServerAddress:
    """Address of the running server. ServerLost if there is none."""
    found = await asyncio.to_thread(find_server, files)
    if not isinstance(found, RunningServer):
        raise ServerLost("No Portico server is running.", suggestion="Start one with: portico serve --detach")
    return ServerAddress(url=found.record.url, token=found.token)


class _Failure(msgspec.Struct):
    error: str


async def _start_server(environ: Mapping[str, str]) -> None:
    """Run `portico serve --detach`. It uses a server that is starting already."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "portico", "serve", "--detach", "--api"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=dict(environ),
    )
    output, _ = await process.communicate()
    if process.returncode != 0:
        try:
            reason = codecs.decode_json(output, _Failure).error
        except msgspec.MsgspecError:
            reason = f"portico serve ended with code {process.returncode}."
        raise DeveloperMustAct(f"The server could not be started. {reason}")
