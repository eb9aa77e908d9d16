"""An editor with files open in it, in which a person is asked about proposals."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.support.editor import Editor
from tests.support.program import Portico
from tests.support.stream import Json

APPLY, KEEP, DISCARD = "portico:apply", "portico:keep", "portico:discard"
_ASK = "session/request_permission"


class ReviewingEditor(Editor):
    """Serves files as an editor does: what is open and not saved comes before the disk. `written` are its saves."""

    def __init__(self, portico: Portico, *flags: str, environ: Mapping[str, str] | None = None) -> None:
        super().__init__(portico, *flags, environ=environ)
        self.unsaved: dict[Path, str] = {}
        self.written: list[Path] = []
        self.terminals: list[Json] = []

    def turn(
        self, session_id: str, prompt: str | list[Any], choose: Callable[[Json], str | None] | str = APPLY
    ) -> "Turn":
        """Send a prompt and be an editor until it is answered. `choose` answers a proposal; None leaves it open."""
        request_id = self.begin(session_id, prompt)
        return self.until_answered(request_id, choose)

    def begin(self, session_id: str, prompt: str | list[Any]) -> int:
        return self.prompt(session_id, prompt if isinstance(prompt, str) else json.dumps(prompt))

    def until_answered(self, request_id: int, choose: Callable[[Json], str | None] | str = APPLY) -> "Turn":
        heard: list[Json] = []
        while True:
            message = self.receive()
            heard.append(message)
            if message.get("id") == request_id and "method" not in message:
                return Turn(heard)
            if message.get("method") == _ASK:
                chosen = choose if isinstance(choose, str) else choose(message["params"])
                if chosen is not None:
                    self.choose(message, chosen)
            else:
                self.serve(message)

    def until_asked(self) -> Json:
        """Be an editor until a question comes, and leave it open."""
        while (message := self.receive()).get("method") != _ASK:
            self.serve(message)
        return message

    def choose(self, question: Json, option_id: str) -> None:
        outcome = {"outcome": "selected", "optionId": option_id}
        self.send({"jsonrpc": "2.0", "id": question["id"], "result": {"outcome": outcome}})

    def serve(self, message: Json) -> None:
        """Answer what an editor answers by itself."""
        params = message.get("params", {})
        match message.get("method"):
            case "fs/read_text_file":
                self._answer(message, *self._read(Path(params["path"])))
            case "fs/write_text_file":
                path = Path(params["path"])
                path.write_bytes(params["content"].encode())
                self.unsaved.pop(path, None)
                self.written.append(path)
                self._answer(message, {}, None)
            case "terminal/create":
                self.terminals.append(params)
                self._answer(message, None, {"code": -32603, "message": "no terminals today"})
            case _:
                pass

    def _read(self, path: Path) -> tuple[Json | None, Json | None]:
        if path in self.unsaved:
            return {"content": self.unsaved[path]}, None
        try:
            return {"content": path.read_bytes().decode()}, None
        except FileNotFoundError:
            return None, {"code": -32002, "message": f"{path} does not exist"}

    def _answer(self, message: Json, result: Json | None, error: Json | None) -> None:
        body = {"result": result} if error is None else {"error": error}
        self.send({"jsonrpc": "2.0", "id": message["id"], **body})


class Turn:
    """All that an editor heard from a prompt to its answer."""

    def __init__(self, heard: list[Json]) -> None:
        self.heard = heard

    @property
    def answer(self) -> Json:
        return self.heard[-1]

    @property
    def stop_reason(self) -> str:
        return str(self.answer["result"]["stopReason"])

    @property
    def questions(self) -> list[Json]:
        return [one["params"] for one in self.heard if one.get("method") == _ASK]

    @property
    def cards(self) -> list[Json]:
        """Proposals as they were shown."""
        return [one for one in self._updates("tool_call") if one["title"].startswith("Proposed changes")]

    @property
    def verdict(self) -> str:
        """Final message about the last proposal."""
        return str(self._updates("tool_call_update")[-1]["content"][0]["content"]["text"])

    @property
    def diffs(self) -> dict[str, tuple[str | None, str]]:
        """The texts of each file in the last proposal, old and new, by its path."""
        return {
            one["path"]: (one.get("oldText"), one["newText"])
            for one in self.cards[-1]["content"]
            if one["type"] == "diff"
        }

    def _updates(self, kind: str) -> list[Json]:
        updates = [one["params"]["update"] for one in self.heard if one.get("method") == "session/update"]
        return [one for one in updates if one["sessionUpdate"] == kind]
