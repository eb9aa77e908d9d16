"""Responses to a browser: the page with its policy, files it may cache, and nothing else of this machine."""

import re
from pathlib import Path

import pytest

from portico.doors.http.page import PageFolder
from tests.doors.http.support import INFO, JSON_BODY, TOKEN, bearer, open_door

INDEX = """<!doctype html><meta name="build" content="{{build}}">
<script nonce="{{nonce}}" src="/assets/main-ABCDEF23.js"></script><style nonce="{{nonce}}"></style>"""
OUTSIDE = [
    "/../outside.txt",
    "/assets/../../outside.txt",
    "/%2e%2e/outside.txt",
    "/..%2foutside.txt",
    "//etc/passwd",
    "/assets//main-ABCDEF23.js",
    "/.hidden",
    "/link.txt",
    "/assets",
    "/assets/",
    "/nothing.js",
    "/index.html%00.js",
    "http://127.0.0.1/index.html",
]


@pytest.fixture
def page(tmp_path: Path) -> Path:
    folder = tmp_path / "page"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text(INDEX)
    (folder / "assets" / "main-ABCDEF23.js").write_text("let a = 1;")
    (folder / "build.json").write_text('{"build": "b1", "script": "main-ABCDEF23.js"}')
    (folder / "assets" / "codicon-highcontrast.ttf").write_bytes(b"font")
    (folder / ".hidden").write_text("secret")
    (tmp_path / "outside.txt").write_text("secret")
    (folder / "link.txt").symlink_to(tmp_path / "outside.txt")
    return folder


async def test_the_page_comes_with_a_policy_and_a_nonce_of_its_own_each_time(page: Path) -> None:
    async with open_door(page) as door:
        first, second = await door.ask("GET", "/"), await door.ask("GET", "/index.html")
    nonces = []
    for reply in (first, second):
        assert (reply.status, reply.headers["content-type"]) == (200, "text/html; charset=utf-8")
        found = re.search(r"'nonce-([\w-]{20,})'", reply.headers["content-security-policy"])
        assert found is not None
        assert reply.body.decode().count(f'nonce="{found[1]}"') == 2
        assert b"{{" not in reply.body
        assert reply.headers["cache-control"] == "no-store"
        nonces.append(found[1])
    assert nonces[0] != nonces[1]


async def test_the_policy_allows_the_page_its_own_files_and_nothing_inline(page: Path) -> None:
    async with open_door(page) as door:
        policy = (await door.ask("GET", "/")).headers["content-security-policy"]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    nonce = rules["script-src"].split()[0]
    assert rules == {
        "default-src": "'none'",
        "script-src": f"{nonce} 'self'",
        "style-src": f"{nonce} 'self'",
        "img-src": "'self' data: blob:",
        "font-src": "'self'",
        "connect-src": "'self'",
        "manifest-src": "'self'",
        "frame-ancestors": "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }


async def test_a_file_with_a_hash_in_its_name_is_kept_for_good_and_others_are_asked_for_again(
    page: Path,
) -> None:
    async with open_door(page) as door:
        script = await door.ask("GET", "/assets/main-ABCDEF23.js")
        font = await door.ask("GET", "/assets/codicon-highcontrast.ttf")
    assert (script.body, script.headers["content-type"]) == (b"let a = 1;", "text/javascript; charset=utf-8")
    assert script.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert (font.body, font.headers["content-type"], font.headers["cache-control"]) == (
        b"font",
        "font/ttf",
        "no-cache",
    )


async def test_only_the_head_is_sent_to_those_who_ask_for_it(page: Path) -> None:
    async with open_door(page) as door, door.caller() as caller:
        reply = await caller.ask("HEAD", "/assets/main-ABCDEF23.js")
        assert (reply.status, reply.headers["content-length"]) == (200, "10")
        assert (await caller.ask("GET", "/healthz")).status == 200


async def test_nothing_but_the_page_can_be_read(page: Path) -> None:
    async with open_door(page) as door:
        for path in OUTSIDE:
            assert (await door.ask("GET", path)).refusal == (404, "not_found"), path


async def test_a_page_that_is_not_built_says_how_to_build_it() -> None:
    async with open_door() as door:
        reply = await door.ask("GET", "/")
    assert (reply.status, reply.headers["content-type"]) == (503, "text/html; charset=utf-8")
    assert b"make page" in reply.body


async def test_a_page_that_is_built_meanwhile_is_there_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "page"
    async with open_door(folder) as door:
        assert (await door.ask("GET", "/")).status == 503
        folder.mkdir()
        (folder / "index.html").write_text("here")
        assert (await door.ask("GET", "/")).body == b"here"


async def test_the_page_and_the_server_call_the_build_by_one_name(page: Path) -> None:
    files = PageFolder(page)
    async with open_door(page) as door:
        assert b'content="b1"' in (await door.ask("GET", "/")).body
    assert files.build() == "b1"
    (page / "build.json").write_text('{"build": "b2"}')
    assert files.build() == "b2"
    assert PageFolder(page / "nowhere").build() == ""


@pytest.mark.parametrize("path", ["/", "/healthz", "/nothing", "/auth", INFO])
async def test_every_answer_carries_the_headers_that_keep_a_browser_safe(page: Path, path: str) -> None:
    async with open_door(page) as door:
        method = "POST" if path == INFO else "GET"
        reply = await door.ask(method, path, {**JSON_BODY, **bearer(TOKEN)}, body=b"{}")
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["referrer-policy"] == "no-referrer"
    assert reply.headers["cross-origin-opener-policy"] == "same-origin"
    assert reply.headers["cross-origin-resource-policy"] == "same-origin"
    assert reply.headers["cache-control"] == "no-store"
    assert reply.headers["content-security-policy"].startswith("default-src 'none'")
    assert "server" not in reply.headers
