"""`portico acp --connect URL`: a remote chain as an ACP agent on standard input and output, for any editor."""

import asyncio
import ssl
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import SplitResult, urlsplit

import h11
from wsproto.connection import ConnectionType

from portico.config.paths import state_folder
from portico.config.server_files import ServerFiles
from portico.domain.errors import InvalidInput, PorticoError
from portico.processes.tasks import cancel_and_wait
from portico.rpc.framing import LineSplitter
from portico.rpc.replay_buffer import ReplayGone
from portico.rpc.resumable_link import ResumableLink
from portico.rpc.stdio import standard_streams
from portico.rpc.streams import READ_SIZE, ByteStream
from portico.rpc.websocket import NORMAL, WebSocket, accept_key, make_key

TOKEN_VARIABLE = "PORTICO_TOKEN"
_CONNECTION_HEADER, _RECEIVED_HEADER = "acp-connection-id", "portico-received"
_SCHEMES = {"ws": 80, "wss": 443, "http": 80, "https": 443}
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
_GIVE_UP_SECONDS = 120.0


class RemoteRefused(PorticoError):
    """The server does not accept the connection, and trying again would not help."""


class HandshakeLost(ConnectionError):
    """The connection ended before the server had answered."""


class RemoteChain:
    """Lines of the editor on one side, sockets that come and go on the other."""

    def __init__(self, address: SplitResult, token: str | None, editor: ByteStream) -> None:
        self._address = address
        self._token = token
        self._editor = editor
        self._link = ResumableLink(self._deliver)
        self._id: str | None = None
        self._has_left = asyncio.Event()
        self._socket: WebSocket | None = None

    async def run(self) -> None:
        """Until the editor or the chain ends. RemoteRefused or ConnectionError when it cannot be reached."""
        reading = asyncio.create_task(self._read_editor(), name="messages of the editor")
        try:
            while not self._has_left.is_set():
                reader, writer, after = await self._connect()
                if not await self._use(reader, writer, after):
                    return
        finally:
            await cancel_and_wait(reading)

    async def _read_editor(self) -> None:
        splitter = LineSplitter()
        while chunk := await self._editor.read():
            for line in splitter.feed(chunk):
                if isinstance(line, bytes) and line.strip():
                    await self._link.send(line.decode("utf-8", "replace"))
        await self._link.flush()
        self._has_left.set()
        if self._socket is not None:
            self._socket.close(NORMAL)

    async def _deliver(self, text: str) -> None:
        self._editor.write(text.encode() + b"\n")
        await self._editor.drain()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, int]:
        """A socket that is ready, and how many messages the server has; tried again for a while."""
        loop = asyncio.get_running_loop()
        deadline, pause = loop.time() + _GIVE_UP_SECONDS, 0.0
        while True:
            try:
                return await self._shake_hands()
            except OSError as error:
                # If nothing listens from the start, that is reported at once.
                is_first = self._id is None and not isinstance(error, HandshakeLost)
                if is_first or loop.time() + pause > deadline:
                    raise
            await asyncio.sleep(pause)
            pause = min(max(2 * pause, _SHORTEST_PAUSE), _LONGEST_PAUSE)

    async def _shake_hands(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, int]:
        address = self._address
        host, port = address.hostname or "", address.port or _SCHEMES[address.scheme]
        secure = ssl.create_default_context() if address.scheme in ("wss", "https") else None
        reader, writer = await asyncio.open_connection(host, port, ssl=secure, limit=READ_SIZE)
        try:
            key = make_key()
            writer.write(self._request(key))
            head = await self._read_head(reader)
        except BaseException:
            writer.close()
            raise
        headers = {name.decode(): value.decode() for name, value in head.headers}
        if head.status_code != 101 or headers.get("sec-websocket-accept") != accept_key(key):
            writer.close()
            if head.status_code >= 500:
                raise ConnectionError(f"the server answered {head.status_code}")
            raise _refused(head.status_code, address)
        self._id = headers.get(_CONNECTION_HEADER)
        return reader, writer, int(headers.get(_RECEIVED_HEADER, "0"))

    def _request(self, key: str) -> bytes:
        host = self._address.netloc.rpartition("@")[2]
        lines = [
            f"GET {self._address.path or '/acp'} HTTP/1.1",
            f"Host: {host}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            f"Sec-WebSocket-Key: {key}",
            "Sec-WebSocket-Version: 13",
            f"{_RECEIVED_HEADER}: {self._link.received}",
        ]
        if self._token is not None:
            lines.append(f"Authorization: Bearer {self._token}")
        if self._id is not None:
            lines.append(f"{_CONNECTION_HEADER}: {self._id}")
        return "\r\n".join([*lines, "", ""]).encode()

    async def _read_head(self, reader: asyncio.StreamReader) -> h11.InformationalResponse | h11.Response:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            parser = h11.Connection(h11.CLIENT)
            parser.send(
                h11.Request(
                    method="GET",
                    target="/",
                    headers=[("Host", "x"), ("Upgrade", "websocket"), ("Connection", "Upgrade")],
                )
            )
            parser.send(h11.EndOfMessage())
            parser.receive_data(head)
            found = parser.next_event()
        except (asyncio.IncompleteReadError, ConnectionResetError) as error:
            raise HandshakeLost("the connection ended during the handshake") from error
        except (asyncio.LimitOverrunError, h11.ProtocolError) as error:
            raise ConnectionError("the server does not answer in HTTP") from error
        if not isinstance(found, h11.InformationalResponse | h11.Response):
            raise ConnectionError("the server does not answer in HTTP")
        return found

    async def _use(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, after: int) -> bool:
        """Use a socket until it ends; whether to connect again."""
        socket = self._socket = WebSocket(ConnectionType.CLIENT, writer.write, writer.drain, writer.close)
        if self._has_left.is_set():
            socket.close(NORMAL)
        feeding = asyncio.create_task(_feed(socket, reader), name="bytes of the socket")
        try:
            await self._link.run(socket, after)
        except ReplayGone as error:
            raise RemoteRefused(f"The server lost messages of this connection: {error}") from error
        except OSError:
            pass  # The same as a socket that ended.
        finally:
            self._socket = None
            writer.close()
            await cancel_and_wait(feeding)
        return socket.close_code is None and not self._has_left.is_set()


async def _feed(socket: WebSocket, reader: asyncio.StreamReader) -> None:
    try:
        while data := await reader.read(READ_SIZE):
            socket.feed(data)
    except OSError:
        pass  # A connection that was reset is a lost one.
    socket.lose()


def connect(url: str, environ: Mapping[str, str]) -> int:
    """Be the agent of an editor, with a chain elsewhere; the exit code."""
    address = _address(url)
    token = environ.get(TOKEN_VARIABLE) or _local_token(address, environ)

    async def serve() -> None:
        await RemoteChain(address, token, await standard_streams()).run()

    try:
        asyncio.run(serve())
    except OSError as error:
        raise RemoteRefused(
            f"Cannot connect to {url}: {error}",
            suggestion="Check the address, or start the server there with: portico serve",
        ) from error
    return 0


def _address(url: str) -> SplitResult:
    with suppress(ValueError):
        address = urlsplit(url)
        _ = address.port  # ValueError if it is no number.
        if address.scheme in _SCHEMES and address.hostname:
            return address
    raise InvalidInput(f'"{url}" is not an address such as ws://127.0.0.1:7777/acp')


def _local_token(address: SplitResult, environ: Mapping[str, str]) -> str | None:
    """The token of the user's own server, if the address is its."""
    files = ServerFiles(state_folder(environ))
    record = files.read_record()
    is_local = address.hostname in ("127.0.0.1", "localhost", "::1")
    return files.read_token() if record is not None and is_local and record.port == address.port else None


def _refused(status: int, address: SplitResult) -> RemoteRefused:
    if status == 403:
        return RemoteRefused(
            f"The server is not called {address.netloc}.",
            suggestion="Use the host and the port that it listens on; a tunnel needs the same port on both sides.",
        )
    if status == 401:
        return RemoteRefused(
            f"{address.netloc} refuses the token.", suggestion=f"Put its token into {TOKEN_VARIABLE}."
        )
    if status == 404:
        return RemoteRefused(
            "The connection has ended at the server, or nothing is served at this address.",
            suggestion="Start again; sessions can be loaded from the list of sessions.",
        )
    return RemoteRefused(f"{address.netloc} answered {status}.")
