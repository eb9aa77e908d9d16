"""Cases about the files that a client lends to its agent."""

from portico.acp import _schema as schema
from portico.conformance.case import CaseList, Level, NotExercised, Violation
from portico.conformance.client_trial import SESSION, ClientConnection, ClientTrial, require

FILES: CaseList[ClientTrial] = CaseList()

_TEXT = "first é\nsecond 🏛\n\nfourth without an end"
_READ, _WRITE = "fs/read_text_file", "fs/write_text_file"


@FILES.add("PORTICO-CLIENT-FILES-001", Level.CAPABILITY, "file-system#reading-files")
async def read_whole_file(trial: ClientTrial) -> None:
    """The content of a file is given as it is."""
    connection = await _reader(trial)
    content = await _read(connection)
    if content != _TEXT:
        raise Violation(f"The content is {content!r} and not {_TEXT!r}.")


@FILES.add("PORTICO-CLIENT-FILES-002", Level.CAPABILITY, "file-system#reading-files")
async def read_lines(trial: ClientTrial) -> None:
    """`line` is the first line to read, counted from 1, and `limit` is how many."""
    connection = await _reader(trial)
    for line, limit, expected in ((2, 1, ["second 🏛"]), (2, None, ["second 🏛", "", "fourth without an end"])):
        content = await _read(connection, line, limit)
        # The protocol leaves open whether the last line keeps its end.
        if content.removesuffix("\n").split("\n") != expected:
            raise Violation(f"With line {line} and limit {limit} the content is {content!r}.")


@FILES.add("PORTICO-CLIENT-FILES-003", Level.CAPABILITY, "file-system#reading-files")
async def report_missing_file(trial: ClientTrial) -> str:
    """Reading a file that does not exist is answered with an error."""
    connection = await _reader(trial)
    missing = str(connection.folder / "missing.txt")
    answer = await connection.request(_READ, schema.ReadTextFileRequest(session_id=SESSION, path=missing))
    if not answer.failure:
        raise Violation("A file that does not exist has a content.")
    return answer.failure


@FILES.add("PORTICO-CLIENT-FILES-004", Level.CAPABILITY, "file-system#writing-files")
async def write_file(trial: ClientTrial) -> None:
    """Writing replaces the content of a file by the one that is given."""
    connection = await _writer(trial)
    path = connection.folder / "written.txt"
    path.write_text(
        "a longer text than the one that replaces it, so that a rest would show", encoding="utf-8"
    )
    await _write(connection, str(path), _TEXT)
    if (found := path.read_bytes()) != _TEXT.encode():
        raise Violation(f"The file has {found!r}.")


@FILES.add("PORTICO-CLIENT-FILES-005", Level.CAPABILITY, "file-system#writing-files")
async def create_file(trial: ClientTrial) -> None:
    """Writing a file that does not exist creates it."""
    connection = await _writer(trial)
    path = connection.folder / f"created-{len(trial.frames)}.txt"
    await _write(connection, str(path), "new\n")
    if not path.is_file() or path.read_bytes() != b"new\n":
        raise Violation("The file was not created with that content.")


@FILES.add("PORTICO-CLIENT-FILES-006", Level.MANDATORY, "file-system#checking-support")
async def refuse_files(trial: ClientTrial) -> None:
    """A client that does not announce files answers a request for one with an error."""
    connection = await trial.connect()
    announced = connection.capabilities.fs
    path = _file(connection)
    if not announced.read_text_file:
        answer = await connection.request(_READ, schema.ReadTextFileRequest(session_id=SESSION, path=path))
    elif not announced.write_text_file:
        request = schema.WriteTextFileRequest(session_id=SESSION, path=path, content="refused\n")
        answer = await connection.request(_WRITE, request)
    else:
        raise NotExercised("The client announces that it reads and writes files.")
    if not answer.failure:
        raise Violation("The request succeeded.", (answer.frame,))


def _file(connection: ClientConnection) -> str:
    path = connection.folder / "conformance.txt"
    path.write_bytes(_TEXT.encode())
    return str(path)


async def _reader(trial: ClientTrial) -> ClientConnection:
    connection = await trial.connect()
    require(connection.capabilities.fs.read_text_file, "fs.readTextFile")
    return connection


async def _writer(trial: ClientTrial) -> ClientConnection:
    connection = await trial.connect()
    require(connection.capabilities.fs.write_text_file, "fs.writeTextFile")
    return connection


async def _read(connection: ClientConnection, line: int | None = None, limit: int | None = None) -> str:
    request = schema.ReadTextFileRequest(session_id=SESSION, path=_file(connection), line=line, limit=limit)
    return (await connection.call(_READ, request, schema.ReadTextFileResponse)).content


async def _write(connection: ClientConnection, path: str, content: str) -> None:
    request = schema.WriteTextFileRequest(session_id=SESSION, path=path, content=content)
    await connection.call(_WRITE, request, schema.WriteTextFileResponse)
