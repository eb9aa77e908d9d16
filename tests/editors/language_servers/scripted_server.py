"""A small language server whose bad days are options, given as JSON in its first argument.

It knows texts of words. `def NAME` defines a name, and each line with BAD in it is a problem. Everything that it
receives is written to the file `log`, one message on each line.
"""

import json
import re
import sys
import time
from pathlib import Path
from typing import Any

OPTIONS: dict[str, Any] = json.loads(sys.argv[1])
UNITS = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}
WIDTH = {"utf-8": 1, "utf-16": 2, "utf-32": 4}
ENCODING = OPTIONS.get("encoding", "utf-16")

texts: dict[str, str] = {}
versions: dict[str, int] = {}
held: list[dict[str, Any]] = []
ballast: list[bytes] = []


def send(**message: Any) -> None:
    data = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%b" % (len(data), data))
    sys.stdout.buffer.flush()


def receive() -> dict[str, Any] | None:
    length = 0
    while True:
        line = sys.stdin.buffer.readline()
        if not line:
            return None
        if line == b"\r\n":
            break
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    data = sys.stdin.buffer.read(length)
    if log := OPTIONS.get("log"):
        with Path(log).open("ab") as file:
            file.write(data + b"\n")
    message: dict[str, Any] = json.loads(data)
    return message


def units(text: str) -> int:
    return len(text.encode(UNITS[ENCODING])) // WIDTH[ENCODING]


def characters(line: str, count: int) -> int:
    return len(line.encode(UNITS[ENCODING])[: count * WIDTH[ENCODING]].decode(UNITS[ENCODING]))


def span(text: str, start: int, end: int) -> dict[str, Any]:
    def position(offset: int) -> dict[str, int]:
        before = text[:offset].split("\n")
        return {"line": len(before) - 1, "character": units(before[-1])}

    return {"start": position(start), "end": position(end)}


def offset(text: str, position: dict[str, int]) -> int:
    lines = text.split("\n")
    before = sum(len(line) + 1 for line in lines[: position["line"]])
    return before + characters(lines[position["line"]], position["character"])


def diagnostics(text: str) -> list[dict[str, Any]]:
    return [
        {"range": span(text, *found.span()), "message": f"{found[0]} is bad", "severity": 1}
        for found in re.finditer(r"BAD\w*", text)
    ]


def publish(uri: str, text: str, version: int | None) -> None:
    params: dict[str, Any] = {"uri": uri, "diagnostics": diagnostics(text)}
    if version is not None:
        params["version"] = version
    send(method="textDocument/publishDiagnostics", params=params)


def changed(uri: str, before: str) -> None:
    push = OPTIONS.get("push", "versioned")
    if push == "none" or OPTIONS.get("silent_about", "\0") in texts[uri]:
        return
    for _ in range(OPTIONS.get("flood", 0)):
        publish(uri, before, versions[uri] - 1)
    if OPTIONS.get("late"):
        publish(uri, before, versions[uri] - 1)
        time.sleep(OPTIONS["late"])
    publish(uri, texts[uri], versions[uri] if push == "versioned" else None)


def word_at(params: dict[str, Any]) -> str:
    text = texts[params["textDocument"]["uri"]]
    at = offset(text, params["position"])
    return next((found[0] for found in re.finditer(r"\w+", text) if found.start() <= at <= found.end()), "")


def places(pattern: str) -> list[dict[str, Any]]:
    return [
        {"uri": uri, "range": span(text, *found.span("name"))}
        for uri, text in texts.items()
        for found in re.finditer(pattern, text)
    ]


def answer(method: str, params: dict[str, Any]) -> Any:
    if method == "initialize":
        provided = {
            "definitionProvider": True,
            "referencesProvider": True,
            "documentSymbolProvider": True,
            "renameProvider": True,
            "codeActionProvider": True,
            "textDocumentSync": {"openClose": True, "change": OPTIONS.get("sync", 2), "save": True},
            "positionEncoding": ENCODING,
        }
        if OPTIONS.get("pull"):
            provided["diagnosticProvider"] = {"interFileDependencies": True, "workspaceDiagnostics": False}
        for name in OPTIONS.get("without", ()):
            provided.pop(name)
        return {"capabilities": provided}
    if method == "textDocument/definition":
        name = word_at(params)
        return places(rf"def (?P<name>{name})\b")
    if method == "textDocument/references":
        name = word_at(params)
        return places(rf"\b(?P<name>{name})\b")
    if method == "textDocument/documentSymbol":
        uri = params["textDocument"]["uri"]
        found = [place for place in places(r"def (?P<name>\w+)") if place["uri"] == uri]
        return [
            {
                "name": f"symbol {number}",
                "kind": 12,
                "range": place["range"],
                "selectionRange": place["range"],
            }
            for number, place in enumerate(found)
        ]
    if method == "textDocument/rename":
        name = word_at(params)
        edits: dict[str, Any] = {}
        for place in places(rf"\b(?P<name>{name})\b"):
            edit = {"range": place["range"], "newText": params["newName"]}
            edits.setdefault(place["uri"], []).append(edit)
        return {"changes": {**edits, **OPTIONS.get("foreign", {})}}
    if method == "textDocument/codeAction":
        uri = params["textDocument"]["uri"]
        fixes = [{"range": one["range"], "newText": "GOOD"} for one in params["context"]["diagnostics"]]
        return (
            [{"title": "Make it good", "kind": "quickfix", "edit": {"changes": {uri: fixes}}}]
            if fixes
            else []
        )
    if method == "textDocument/diagnostic":
        return {"kind": "full", "items": diagnostics(texts[params["textDocument"]["uri"]])}
    return None


def notified(method: str, params: dict[str, Any]) -> None:
    document = params.get("textDocument", {})
    uri = document.get("uri", "")
    if method == "textDocument/didOpen":
        texts[uri], versions[uri] = document["text"], document["version"]
        register(OPTIONS.get("register_late", ()), "late")
        if OPTIONS.get("ready"):
            send(method="language/status", params={"type": "ServiceReady", "message": OPTIONS["ready"]})
        changed(uri, "")
    elif method == "textDocument/didChange":
        before = texts[uri]
        for change in params["contentChanges"]:
            if "range" in change:
                start, end = (offset(texts[uri], change["range"][side]) for side in ("start", "end"))
                texts[uri] = texts[uri][:start] + change["text"] + texts[uri][end:]
            else:
                texts[uri] = change["text"]
        versions[uri] = document["version"]
        changed(uri, before)
    elif method == "textDocument/didClose":
        texts.pop(uri, None)
    elif method == "initialized":
        started()


def register(methods: list[str], when: str) -> None:
    for number, method in enumerate(methods):
        registration = {"id": f"{when}-{number}", "method": method, "registerOptions": {}}
        send(
            id=f"register-{when}-{number}",
            method="client/registerCapability",
            params={"registrations": [registration]},
        )


def started() -> None:
    register(OPTIONS.get("register", []), "first")
    if OPTIONS.get("progress") is not None:
        send(id="progress", method="window/workDoneProgress/create", params={"token": 1})
        begin = {"kind": "begin", "title": "Indexing", "percentage": 10}
        send(method="$/progress", params={"token": 1, "value": begin})
        report = {"kind": "report", "percentage": OPTIONS["progress"]}
        send(method="$/progress", params={"token": 1, "value": report})
    if OPTIONS.get("ask"):
        items = [{"section": "words.level"}, {"section": "nothing"}]
        send(id="configuration", method="workspace/configuration", params={"items": items})
        send(id="folders", method="workspace/workspaceFolders")
        send(id="odd", method="window/unheard-of", params={})
    if OPTIONS.get("memory_mb"):
        ballast.append(bytes(bytearray(b"x") * (OPTIONS["memory_mb"] * 1024 * 1024)))


def main() -> None:
    if OPTIONS.get("says"):
        print(OPTIONS["says"], file=sys.stderr, flush=True)
    if OPTIONS.get("noise"):
        sys.stdout.write(OPTIONS["noise"])
        sys.stdout.flush()
    if OPTIONS.get("starts"):
        with Path(OPTIONS["starts"]).open("a") as file:
            file.write("started\n")
    while (message := receive()) is not None:
        method, request_id = message.get("method"), message.get("id")
        if method is not None and method == OPTIONS.get("crash_on"):
            sys.exit(3)
        if method == "exit":
            sys.exit(0)
        if method is None or method == OPTIONS.get("silent_on"):
            continue
        if request_id is None:
            notified(method, message.get("params") or {})
            continue
        result = {"id": request_id, "result": answer(method, message.get("params") or {})}
        if method == OPTIONS.get("swapped"):
            held.append(result)
            if len(held) == 2:
                send(**held.pop())
                send(**held.pop())
        else:
            send(**result)


main()
