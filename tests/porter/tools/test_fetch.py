"""The tool that fetches pages: what it reads, whom it asks, and which addresses it leaves alone."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from portico.porter.models.model import ModelToolResult
from portico.porter.tools.web.address import AddressRefused, is_public, parse_address, resolve
from portico.porter.tools.web.html_text import html_to_text
from tests.porter.client import Client, connected, reject
from tests.porter.loop.scripted import Say, ScriptedModel, call, calls
from tests.porter.tools.conftest import Use

PAGES: dict[str, tuple[int, dict[str, str], bytes]] = {
    "/page": (
        200,
        {"Content-Type": "text/html; charset=utf-8"},
        "<html><head><title>x</title><script>evil()</script></head><body><h1>Größe</h1><p>One <b>two</b></p>"
        "<ul><li>a</li><li><a href='https://example.com/'>b</a></li></ul><pre>x\n  y</pre></body></html>".encode(),
    ),
    "/data": (200, {"Content-Type": "application/json"}, b'{"a": 1}'),
    "/moved": (302, {"Location": "/data"}, b""),
    "/away": (302, {"Location": "http://169.254.169.254/latest/meta-data/"}, b""),
    "/loop": (302, {"Location": "/loop"}, b""),
    "/image": (200, {"Content-Type": "image/png"}, b"\x89PNG"),
    "/missing": (404, {"Content-Type": "text/plain"}, b"no"),
    "/huge": (200, {"Content-Type": "text/plain"}, b"x" * (3 * 1024 * 1024)),
}


class Pages(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hold = threading.Event()
    asked = threading.Event()

    def do_GET(self) -> None:
        if self.path == "/slow":
            self.asked.set()
            self.hold.wait(20)
            self.close_connection = True
            return
        status, headers, body = PAGES[self.path]
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except ConnectionError:
            return

    def log_message(self, *_: Any) -> None:
        return


@contextmanager
def serving() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        Pages.hold.set()
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def origin() -> Iterator[str]:
    Pages.hold.clear()
    Pages.asked.clear()
    with serving() as origin:
        yield origin


def text(result: ModelToolResult) -> str:
    return "".join(part.text for part in result.parts)  # type: ignore[union-attr]


def allowed(origin: str) -> dict[str, Any]:
    return {"environ": {"PATH": "/usr/bin:/bin", "PORTICO_FETCH_ALLOW": origin}}


async def test_a_page_is_told_as_words_and_its_source_is_named(use: Use, origin: str) -> None:
    def look(client: Client) -> None:
        [question] = client.questions
        assert question.tool_call.kind == "fetch"
        assert f"every page of {origin}" in question.options[1].name

    result = await use("fetch", url=f"http://{origin}/page", with_client=allowed(origin), after=look)
    assert text(result) == (
        f"The page http://{origin}/page (status 200) says:\n\n# Größe\n\nOne two\n\n- a\n\n"
        "- b (https://example.com/)\n\n```\nx\n  y\n```\n\n[End of the page.]"
    )


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/moved", '{"a": 1}'),
        ("/away", "The page redirects to another host: fetch http://169.254.169.254/latest/meta-data/"),
        ("/loop", "redirects more than 5 times"),
        ("/image", "The page is not text: its type is image/png."),
        ("/missing", "returned status 404"),
        ("/huge", "larger than 2 MB"),
    ],
)
async def test_each_kind_of_page_is_dealt_with(use: Use, origin: str, path: str, told: str) -> None:
    assert told in text(await use("fetch", url=f"http://{origin}{path}", with_client=allowed(origin)))


async def test_a_private_address_is_refused_unless_the_person_named_it(use: Use, origin: str) -> None:
    result = await use(
        "fetch", url=f"http://{origin}/data", with_client={"environ": {"PATH": "/usr/bin:/bin"}}
    )
    assert result.failed
    assert "is a private address" in text(result)


async def test_a_declined_host_is_not_asked(use: Use, origin: str) -> None:
    def decline(client: Client) -> None:
        client.answer = reject

    result = await use("fetch", url=f"http://{origin}/slow", with_client=allowed(origin), before=decline)
    assert "The user declined" in text(result)
    assert not Pages.asked.is_set()


async def test_a_stop_ends_a_fetch_at_once(state: Path, folder: Path, origin: str) -> None:
    model = ScriptedModel([calls(call("fetch", url=f"http://{origin}/slow")), Say("Never.")])
    async with connected(state, setup_of=model.setup(), **allowed(origin)) as client:
        session = await client.open(folder)
        async with client.turn(session, "go") as turn:
            assert await asyncio.to_thread(Pages.asked.wait, 10)
            client.end.cancel(session)
            assert await turn == "cancelled"


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.0.0.1", "172.16.3.4", "192.168.0.1", "169.254.169.254", "0.0.0.0", "100.64.0.1",
        "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fc00::1", "ff02::1", "::ffff:127.0.0.1",
        "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "fe80::1%eth0",
    ],
)  # fmt: skip
def test_private_addresses_are_known_in_every_dress(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["1.1.1.1", "2606:4700:4700::1111", "64:ff9b::101:101"])
def test_public_addresses_are_known(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://a/",
        "file:///etc/passwd",
        "http://",
        "http://me:secret@a/",
        "http://a:99999/",
        "//a/b",
        "x",
        "http://[1/",
    ],
)
def test_what_is_no_address_of_the_web_is_refused(url: str) -> None:
    with pytest.raises(AddressRefused):
        parse_address(url)


@pytest.mark.parametrize("host", ["2130706433", "0x7f.1", "017700000001", "localhost", "LOCALHOST."])
def test_other_names_of_this_machine_are_refused(host: str) -> None:
    with pytest.raises(AddressRefused):
        resolve(parse_address(f"http://{host}/"), {})


def test_a_name_with_one_private_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, 80)) for one in ("1.1.1.1", "10.0.0.1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: entries)
    with pytest.raises(AddressRefused, match="private"):
        resolve(parse_address("http://two.example/"), {})
    assert resolve(parse_address("http://two.example/"), {"PORTICO_FETCH_ALLOW": "two.example"})


def test_broken_html_still_has_words() -> None:
    assert html_to_text("<p>a<div>b</p></script>c<li>d &amp; &#x41;</unknown>") == "a\nb\nc\n- d & A"
