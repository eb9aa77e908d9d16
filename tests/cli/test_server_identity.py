"""Identity of the server: its proof, who gets its token, and what is never trusted."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from portico import __version__
from portico.config.server_files import ServerFiles
from tests.cli.test_serve import settings_with_scripted_agent
from tests.support.program import Portico
from tests.support.serving import Server, detach, stopped
from tests.support.waiting import wait_for_file, wait_until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and modes are POSIX")


IMPOSTOR = """
import http.server, os, sys
heard = sys.argv[1]
class Impostor(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with open(heard + ".requests", "a") as file:
            file.write(self.path + str(self.headers))
        body = b'{"status":"ok","version":"%s","proof":"00"}'
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    do_POST = do_GET
    def log_message(self, *words): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Impostor)
with open(heard + ".new", "w") as file:
    file.write(str(server.server_address[1]))
os.rename(heard + ".new", heard)
server.serve_forever()
"""


def test_an_old_token_is_refused(portico: Portico, server: Server) -> None:
    detach(portico)
    old = server.token
    stopped(portico)
    server.token_file.unlink()
    detach(portico)
    assert server.token != old
    assert server.call("GET", "/healthz", token=old).status == 401
    assert server.call("POST", "/auth", token=old).status == 401


def test_a_token_that_others_could_read_is_replaced(portico: Portico, server: Server) -> None:
    detach(portico)
    old = server.token
    stopped(portico)
    server.token_file.chmod(0o644)
    detach(portico)
    assert server.token != old
    assert stat.S_IMODE(server.token_file.stat().st_mode) == 0o600


def test_a_file_left_over_is_neither_trusted_nor_its_process_ended(portico: Portico, server: Server) -> None:
    detach(portico)
    stopped(portico)
    bystander = portico.start("agent", stdin=subprocess.PIPE)
    server.record_file.write_text(json.dumps({**server.record, "pid": bystander.pid}))
    assert portico.run("status", "--api").api["running"] is False
    assert portico.run("stop").text == "No server is running.\n"
    detach(portico)
    assert server.record["pid"] != bystander.pid
    assert bystander.process.poll() is None
    assert bystander.end().code == 0


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pid": "x"}', '{"pid":1,"port":99999999}', "\xff"])
def test_a_file_that_makes_no_sense_is_passed_over(portico: Portico, server: Server, content: str) -> None:
    portico.state.mkdir(parents=True)
    server.record_file.write_text(content, encoding="latin-1")
    assert portico.run("status", "--api").api["running"] is False
    detach(portico)
    assert server.answers()


def test_who_only_says_that_all_is_well_is_no_server_and_learns_no_token(
    portico: Portico, server: Server, tmp_path: Path
) -> None:
    files = ServerFiles(portico.state)
    token, lease = files.ensure_token(), files.take_lease()
    assert lease is not None
    heard = tmp_path / "heard"
    impostor = portico.start("-c", IMPOSTOR, str(heard), executable=sys.executable)
    wait_for_file(heard)
    record = {"pid": impostor.pid, "port": int(heard.read_text()), "version": __version__}
    more = {"started_at": "2026-01-01T00:00:00.000Z", "token_file": str(files.token_file)}
    server.record_file.write_text(json.dumps({**record, **more}))
    told = portico.run("status", "--api").api
    assert (told["running"], told["heldBy"]) == (False, f"process {os.getpid()}")
    ran = portico.run("stop", "--timeout", "0.2")
    assert ran.code == 2
    assert "could not be asked" in ran.err
    assert portico.run("serve").code == 5
    assert impostor.process.poll() is None
    said = heard.with_suffix(".requests").read_text()
    assert "/healthz" in said
    assert token not in said
    lease.release()
    impostor.process.kill()
    impostor.end()


def test_a_server_of_another_version_is_told(portico: Portico, server: Server) -> None:
    start = (
        "import portico; portico.__version__ = '0.0.1'; from portico.cli.main import main; main(['serve'])"
    )
    older = portico.start("-c", start, executable=sys.executable)
    wait_until(lambda: server.record_file.exists() and server.answers(), "the server")
    told = portico.run("status", "--api").api
    assert (told["version"], told["sameVersion"]) == ("0.0.1", False)
    assert f"This is Portico {__version__}" in portico.run("status").text
    reused = portico.run("serve", "--detach")
    assert reused.code == 0
    assert "0.0.1" in reused.err
    stopped(portico)
    older.end()


def test_the_browser_is_started_with_a_pass_that_works_once(
    portico: Portico, server: Server, tmp_path: Path
) -> None:
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}.new && mv {opened}.new {opened}\n')
    browser.chmod(0o700)
    ran = detach(portico, "--open", environ={"BROWSER": str(browser)})
    assert ran.text == f"Portico: {server.url}#token={server.token}\n"
    wait_for_file(opened)
    address, _, key = opened.read_text().partition("#token=")
    assert address == server.url
    assert key != server.token
    assert server.call("POST", "/auth", token=key).status == 204
    assert server.call("POST", "/auth", token=key).status == 401


def test_a_machine_without_a_browser_is_no_failure(portico: Portico, server: Server) -> None:
    ran = detach(portico, "--open", environ={"DISPLAY": ":99", "PATH": "/nowhere"})
    assert server.url in ran.text


def test_no_log_and_no_file_but_its_own_has_the_token(portico: Portico, server: Server) -> None:
    detach(portico)
    token = server.token
    server.call("POST", "/auth", token=token)
    server.call("GET", f"/?token={token}", token=token)
    server.call("POST", f"/{token[:5]}", token=f"{token}x", origin="http://evil.example")
    cookie = server.call("POST", "/auth", token=token).headers["set-cookie"].split("=")[1].split(";")[0]
    server.call("POST", "/portico.v1.AgentService/GetServerInfo", cookie=f"portico_{server.port}={cookie}")
    stopped(portico)
    assert "refused status=403" in (portico.state / "portico.log").read_text()
    for file in portico.home.rglob("*"):
        if file.is_file() and file != server.token_file:
            assert token.encode() not in file.read_bytes(), file
            assert cookie.encode() not in file.read_bytes(), file


def test_a_command_joins_the_server_of_another_home_by_its_token_file(
    portico: Portico, server: Server, tmp_path: Path
) -> None:
    settings_with_scripted_agent(portico)
    detach(portico)
    started = server.ask("StartSession", {"workspace": str(portico.workspace), "agent": "scripted"})
    session = started["session"]["summary"]["sessionId"]
    mine = {"PORTICO_HOME": str(tmp_path / "mine")}
    there = ("--token-file", str(server.token_file))
    told = portico.run(*there, "status", "--api", environ=mine).api
    assert (told["running"], told["url"]) == (True, server.url)
    ran = portico.run(*there, "exec", "--api", "--session", session, "say hello", environ=mine)
    assert ran.code == 0, ran.err
    assert (ran.api["sessionId"], ran.api["text"]) == (session, "hello")
    shown = server.ask("GetSession", {"sessionId": session})["session"]["summary"]
    assert shown["title"] == "say hello"
    assert portico.run("status", "--api", environ=mine).api == {"status": "ok", "running": False}
    stop = portico.run(f"--token-file={server.token_file}", "stop", environ=mine)
    assert stop.code == 0, stop.err
    assert not server.answers()


@pytest.mark.parametrize(
    ("given", "mode", "record", "complaint"),
    [
        ("", 0o600, True, "--token-file needs a file"),
        ("other.token", 0o600, True, "is not the token file of a server"),
        ("missing/server.token", 0o600, True, "is not the token file of a server"),
        ("server.token", 0o600, False, "server.json is missing or invalid"),
        ("server.token", 0o644, True, "other users can read it"),
    ],
)
def test_a_token_file_that_cannot_be_used_is_refused_with_the_reason(
    portico: Portico, tmp_path: Path, given: str, mode: int, record: bool, complaint: str
) -> None:
    for name in ("server.token", "other.token"):
        (tmp_path / name).write_text("a-token\n")
        (tmp_path / name).chmod(mode)
    if record:
        about = {"pid": 1, "port": 1, "version": "0", "started_at": "", "token_file": ""}
        (tmp_path / "server.json").write_text(json.dumps(about))
    ran = portico.run("--token-file", str(tmp_path / given) if given else "", "status")
    assert ran.code == 5
    assert complaint in ran.err
