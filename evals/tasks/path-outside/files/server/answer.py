"""Answers to requests: a status and a body."""

from server.files import locate

PREFIX = "/files/"


def answer(public, target):
    if not target.startswith(PREFIX):
        return 404, b""
    path = locate(public, target.removeprefix(PREFIX).partition("?")[0])
    return (404, b"") if path is None else (200, path.read_bytes())
