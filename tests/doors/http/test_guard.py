"""Access to the server: the right host, no foreign origin, the token or the page's own cookie."""

import asyncio
import time

import pytest

from portico.config.server_files import make_token
from portico.doors.http.asgi import HttpRequest
from portico.doors.http.credentials import PASS_SECONDS, Credentials, make_pass
from portico.doors.http.guard import MAX_BODY_BYTES, SERVICE_PATH, RequestGuard
from portico.doors.http.refusals import RequestRefused
from tests.doors.http.support import INFO, JSON_BODY, TOKEN, Door, bearer, open_door

DENIED = (403, "permission_denied")
UNKNOWN = (401, "unauthenticated")
PATHS = ["/", "/healthz", INFO]
WRONG_TOKENS: list[dict[str, str]] = [
    {},
    {"authorization": ""},
    {"authorization": "Bearer"},
    {"authorization": f"Basic {TOKEN}"},
    {"authorization": TOKEN},
    bearer("another-token"),
    bearer(TOKEN[:-1]),
    bearer(f"{TOKEN}x"),
    bearer("\xff\xfe"),
]
HOSTS = [
    "evil.example",
    "evil.example:{port}",
    "127.0.0.1.evil.example:{port}",
    "localhost.evil.example:{port}",
    "127.0.0.1",
    "127.0.0.1:1",
    "127.0.0.2:{port}",
    "0.0.0.0:{port}",
    "localhost.:{port}",
    "user@127.0.0.1:{port}",
    "192.168.1.10:{port}",
    "[::ffff:127.0.0.1]:{port}",
    "",
]
ORIGINS = [
    "https://evil.example",
    "http://evil.example:{port}",
    "http://127.0.0.1",
    "http://127.0.0.1:1",
    "http://localhost:{port}",
    "https://127.0.0.1:{port}",
    "http://127.0.0.1:{port}.evil.example",
    "vscode-webview://1b2c3d",
    "file://",
    "null",
    "",
]


def request(port: int, **headers: str) -> HttpRequest:
    """A request to a port that a test may not be allowed to take."""
    named = [(name.encode(), value.encode()) for name, value in headers.items()]
    return HttpRequest({"method": "GET", "path": "/", "server": ("127.0.0.1", port), "headers": named})


async def test_a_program_with_the_token_is_heard() -> None:
    async with open_door() as door:
        reply = await door.info(bearer(TOKEN))
        assert (reply.status, reply.json["version"]) == (200, "1.2.3")


async def test_a_wrong_or_missing_token_is_refused() -> None:
    async with open_door() as door:
        for headers in WRONG_TOKENS:
            reply = await door.info(headers)
            assert reply.refusal == UNKNOWN, headers
            assert reply.headers["www-authenticate"] == "Bearer"
        assert door.service.calls == []


async def test_two_tokens_in_one_request_are_none() -> None:
    async with open_door() as door, door.caller() as caller:
        reply = await caller.ask(
            "POST", INFO, {**JSON_BODY, **bearer(TOKEN), "Authorization": "Bearer another"}
        )
        assert reply.refusal == UNKNOWN


async def test_a_name_that_only_points_here_is_refused() -> None:
    async with open_door() as door:
        for path in PATHS:
            for host in HOSTS:
                reply = await door.ask("GET", path, bearer(TOKEN), host=host.format(port=door.port))
                assert reply.refusal == DENIED, (path, host)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LocalHost", "[::1]"])
async def test_the_names_of_this_machine_are_answered(host: str) -> None:
    async with open_door() as door:
        assert (await door.info(bearer(TOKEN), host=f"{host}:{door.port}")).status == 200


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "localhost:80"])
def test_on_the_port_that_http_has_anyway_clients_leave_it_out(host: str) -> None:
    guard = RequestGuard(Credentials(TOKEN), asyncio.Event(), MAX_BODY_BYTES)
    guard.admit(request(80, host=host))
    guard.admit(request(80, host=host, origin=f"http://{host}"))
    with pytest.raises(RequestRefused):
        guard.admit(request(80, host="evil.example"))
    with pytest.raises(RequestRefused):
        guard.admit(request(80, host=host, origin="http://evil.example"))


async def test_a_request_without_a_host_is_refused() -> None:
    async with open_door() as door, door.caller() as caller:
        caller.writer.write(b"GET /healthz HTTP/1.0\r\n\r\n")
        assert (await caller.reply()).refusal == DENIED


async def test_a_page_of_another_origin_is_refused_even_with_the_token() -> None:
    async with open_door() as door:
        for path in PATHS:
            for origin in ORIGINS:
                headers = {**bearer(TOKEN), "origin": origin.format(port=door.port)}
                reply = await door.ask("GET", path, headers)
                assert reply.refusal == DENIED, (path, origin)
                assert "access-control-allow-origin" not in reply.headers


async def test_a_browser_that_asks_beforehand_gets_no_leave() -> None:
    async with open_door() as door:
        asked = {"origin": "https://evil.example", "access-control-request-method": "POST"}
        assert (await door.ask("OPTIONS", INFO, asked)).refusal == DENIED


async def test_the_page_swaps_the_token_for_a_cookie_that_is_not_the_token() -> None:
    async with open_door() as door:
        reply = await door.ask("POST", "/auth", {**bearer(TOKEN), "origin": door.origin})
        cookie, *settings = reply.headers["set-cookie"].split("; ")
        assert (reply.status, reply.body) == (204, b"")
        assert set(settings) == {f"Path={SERVICE_PATH}", "HttpOnly", "SameSite=Strict"}
        assert TOKEN not in cookie
        same_origin = {"cookie": cookie, "origin": door.origin, "sec-fetch-site": "same-origin"}
        assert (await door.info(same_origin)).status == 200


async def test_the_cookie_is_no_token() -> None:
    async with open_door() as door:
        value = (await door.cookie()).partition("=")[2]
        assert (await door.info(bearer(value))).refusal == UNKNOWN
        assert (await door.ask("POST", "/auth", bearer(value))).refusal == UNKNOWN


@pytest.mark.parametrize("headers", [{}, bearer("old"), {"cookie": "portico=1"}])
async def test_nobody_gets_a_cookie_without_the_token(headers: dict[str, str]) -> None:
    async with open_door() as door:
        reply = await door.ask("POST", "/auth", headers)
        assert reply.refusal == UNKNOWN
        assert "set-cookie" not in reply.headers


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "none"},
        {"sec-fetch-site": "same-site", "origin": "own"},
    ],
)
async def test_the_cookie_counts_for_calls_of_the_page_itself_only(said: dict[str, str]) -> None:
    async with open_door() as door:
        headers = {name: door.origin if value == "own" else value for name, value in said.items()}
        assert (await door.info({**headers, "cookie": await door.cookie()})).refusal == DENIED
        assert door.service.calls == []


@pytest.mark.parametrize("said", [{"sec-fetch-site": "same-origin"}, {"origin": "own"}])
async def test_the_page_is_known_by_what_its_browser_says(said: dict[str, str]) -> None:
    async with open_door() as door:
        headers = {name: door.origin if value == "own" else value for name, value in said.items()}
        others = f"theme=dark; {await door.cookie()}; empty"
        assert (await door.info({**headers, "cookie": others})).status == 200


async def test_a_wrong_token_is_not_made_good_by_the_cookie() -> None:
    async with open_door() as door:
        headers = {"cookie": await door.cookie(), "sec-fetch-site": "same-origin", **bearer("wrong")}
        assert (await door.info(headers)).refusal == UNKNOWN


async def test_the_cookie_of_another_server_is_refused() -> None:
    async with open_door() as door:
        other = f"{door.cookie_name}={Credentials(make_token()).cookie}"
        assert (await door.info({"cookie": other, "origin": door.origin})).refusal == UNKNOWN


async def test_a_pass_lets_the_page_in_once() -> None:
    async with open_door() as door:
        one, another = make_pass(TOKEN, now=time.time()), make_pass(TOKEN, now=time.time())
        assert await _enter(door, one) == 204
        assert await _enter(door, one) == 401
        assert await _enter(door, another) == 204
        assert (await door.info(bearer(another))).refusal == UNKNOWN


async def test_a_pass_that_is_old_or_made_by_others_is_refused() -> None:
    async with open_door() as door:
        assert await _enter(door, make_pass(TOKEN, now=time.time() - PASS_SECONDS - 1)) == 401
        assert await _enter(door, make_pass("guessed", now=time.time())) == 401
        longer = "9" + make_pass(TOKEN, now=time.time())
        assert await _enter(door, longer) == 401


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/auth", "POST"),
        ("DELETE", "/healthz", "GET, HEAD"),
        ("POST", "/", "GET, HEAD"),
        ("GET", "/stop", "POST"),
    ],
)
async def test_other_methods_are_refused(method: str, path: str, allowed: str) -> None:
    async with open_door() as door:
        reply = await door.ask(method, path, bearer(TOKEN))
        assert (reply.status, reply.headers["allow"]) == (405, allowed)


async def test_the_service_itself_refuses_methods_it_does_not_take() -> None:
    async with open_door() as door:
        assert (await door.ask("DELETE", INFO, {**JSON_BODY, **bearer(TOKEN)})).status == 405


async def test_plain_grpc_is_told_what_to_use_instead() -> None:
    async with open_door() as door:
        reply = await door.ask("POST", INFO, {**bearer(TOKEN), "content-type": "application/grpc+proto"})
        assert reply.refusal == (415, "unimplemented")
        web = {**bearer(TOKEN), "content-type": "application/grpc-web+proto"}
        assert (await door.ask("POST", INFO, web, body=bytes(5))).status == 200


async def _enter(door: Door, key: str) -> int:
    return (await door.ask("POST", "/auth", bearer(key))).status
