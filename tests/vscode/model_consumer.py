"""Another extension that uses VS Code's language models, driven by a test over HTTP."""

import http.client
import json
import subprocess
import zipfile
from collections.abc import Generator, Mapping
from pathlib import Path

from tests.support.stream import Json
from tests.support.waiting import wait_for_file
from tests.vscode.editor import found

FILE_VARIABLE = "CONSUMER_FILE"
_SOURCE = Path(__file__).parent / "consumer"
_TYPES = (
    '<?xml version="1.0" encoding="utf-8"?>'
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension=".json" ContentType="application/json"/>'
    '<Default Extension=".js" ContentType="application/javascript"/></Types>'
)


def install_consumer(extensions: Path, environ: Mapping[str, str]) -> None:
    """Beside what is installed in the folder already."""
    packed = extensions.with_suffix(".vsix")
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("[Content_Types].xml", _TYPES)
        for file in sorted(_SOURCE.iterdir()):
            archive.write(file, f"extension/{file.name}")
    places = ("--user-data-dir", str(extensions.with_suffix(".data")), "--extensions-dir", str(extensions))
    words = [found(), *places, "--install-extension", str(packed)]
    subprocess.run(words, env=dict(environ), check=True, capture_output=True)


class Consumer:
    """The extension in the window that was opened last."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def models(self) -> dict[str, Json]:
        """Models that VS Code lists as Portico's, by id."""
        return {line["id"]: line for line in self._lines("/models", {})}

    def ask(self, model: str, *messages: Json, tools: list[Json] | None = None) -> Generator[Json]:
        """The parts of the answer, as they come. Closing it cancels the request."""
        yield from self._lines("/ask", {"model": model, "messages": messages, "tools": tools or []})

    def _lines(self, path: str, body: Json) -> Generator[Json]:
        wait_for_file(self._file)
        connection = http.client.HTTPConnection("127.0.0.1", int(self._file.read_text()), timeout=60)
        try:
            connection.request("POST", path, body=json.dumps(body))
            for line in connection.getresponse():
                yield json.loads(line)
        finally:
            connection.close()


def user(*parts: Json | str) -> Json:
    return {"role": "user", "parts": [{"text": part} if isinstance(part, str) else part for part in parts]}


def assistant(*parts: Json | str) -> Json:
    return {**user(*parts), "role": "assistant"}
