"""Paired devices at a real server: codes, roles, folders, revocation, and names in the log."""

import json
import shlex
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPResponse
from pathlib import Path

import pytest

from portico.config.devices import CODE_SECONDS, DeviceFile
from portico.domain.errors import InvalidInput
from tests.support.program import Portico
from tests.support.serving import SERVICE, Replied, Server, Streamed, detach
from tests.support.stream import Json
from tests.support.waiting import wait_until

PUBLIC = "portico.example"


@pytest.fixture
def server(portico: Portico) -> Iterator[Server]:
    command = shlex.split(portico.agent)
    agents = {"scripted": {"command": command[0], "args": command[1:]}}
    portico.settings({"agent": "scripted", "agents": agents})
    detach(portico, "--public-url", f"https://{PUBLIC}")
    found = Server(portico)
    yield found
    found.end()


class PairedDevice:
    """A page on another device, which comes through a proxy by the public address."""

    def __init__(self, server: Server, *flags: str) -> None:
        self._server = server
        offered = server.portico.run("pair", "--api", *flags).api
        assert offered["url"] == f"https://{PUBLIC}/#token={offered['code']}"
        self.code = str(offered["code"])
        paired = sign_in(server, self.code)
        assert paired.status == 204, paired.body
        self.cookie, _, self.settings = paired.headers["set-cookie"].partition("; ")

    def headers(self, content_type: str) -> dict[str, str]:
        return {
            "host": PUBLIC,
            "cookie": self.cookie,
            "origin": f"https://{PUBLIC}",
            "sec-fetch-site": "same-origin",
            "content-type": content_type,
        }

    def call(self, method: str, **request: object) -> Replied:
        headers = self.headers("application/json")
        more = {name.replace("-", "_"): value for name, value in headers.items()}
        return self._server.call("POST", SERVICE + method, body=json.dumps(request).encode(), **more)

    def ask(self, method: str, **request: object) -> Json:
        replied = self.call(method, **request)
        assert replied.status == 200, replied.body
        found: Json = replied.json
        return found

    def refusal(self, method: str, **request: object) -> str:
        replied = self.call(method, **request)
        assert replied.status != 200
        return str(replied.json["message"])

    def watch(self, session_id: str) -> Streamed:
        connection = self._server.connect()
        message = json.dumps({"sessionId": session_id}).encode()
        body = b"\x00" + len(message).to_bytes(4, "big") + message
        connection.request(
            "POST", f"{SERVICE}Watch", body=body, headers=self.headers("application/connect+json")
        )
        answer: HTTPResponse = connection.getresponse()
        assert answer.status == 200
        return Streamed(connection, answer)


def sign_in(server: Server, code: str) -> Replied:
    return server.call("POST", "/auth", token=code, host=PUBLIC, user_agent="Chrome on Android 14")


def test_devices_do_what_their_roles_allow_and_are_named_in_the_log(portico: Portico, server: Server) -> None:
    session_id = str(server.ask("StartSession", {})["session"]["summary"]["sessionId"])
    phone = PairedDevice(server, "--name", "Ada's phone", "--role", "collaborator")
    assert {"HttpOnly", "SameSite=Strict", "Secure"} <= set(phone.settings.split("; "))
    guest = PairedDevice(server, "--role", "viewer")
    # A code works once, and neither the server's token nor its cookie goes through the proxy.
    assert sign_in(server, phone.code).status == 401
    assert server.call("POST", "/auth", token=server.token, host=PUBLIC).status == 401
    body, kind = b"{}", "application/json"
    through = {"host": PUBLIC, "content_type": kind}
    info = f"{SERVICE}GetServerInfo"
    assert server.call("POST", info, token=server.token, body=body, **through).status == 401
    assert server.call("POST", info, body=body, host="other.example", content_type=kind).status == 403
    foreign = {**through, "cookie": phone.cookie, "origin": "https://evil.example"}
    assert server.call("POST", info, body=body, **foreign).status == 403
    # A viewer sees the question and cannot answer it; a collaborator can, once.
    server.ask("SubmitPrompt", {"sessionId": session_id, "text": "permission\nsay done"})
    wait_until(lambda: bool(permissions(guest, session_id)), "the question")
    (asked,) = permissions(guest, session_id)
    option = next(one for one in asked["options"] if "ALLOW" in one["kind"])
    decision = {"requestId": asked["requestId"], "optionId": option["optionId"]}

    def answer(device: PairedDevice, **more: str) -> Replied:
        decisions = {"decisions": [{**decision, **more}]}
        return device.call("SubmitClientEvent", sessionId=session_id, permissionDecisions=decisions)

    assert "is a viewer" in answer(guest).json["message"]
    assert "is for owners" in answer(phone, scope="PERMISSION_SCOPE_ALWAYS").json["message"]
    assert "is for owners" in phone.refusal("SetSettings")
    assert "is a viewer" in guest.refusal("SubmitPrompt", sessionId=session_id, text="say more")
    assert "is a viewer" in guest.refusal("StopTurn", sessionId=session_id)
    assert permissions(guest, session_id) == [asked]
    assert answer(phone).status == 200
    wait_until(lambda: state(phone, session_id) == "TURN_STATE_COMPLETED", "the end of the turn")
    timeline = guest.ask("GetTimeline", sessionId=session_id)["events"]
    (resolved,) = [one["permissionResolved"] for one in timeline if "permissionResolved" in one]
    assert resolved["person"] == "Ada's phone"
    assert "Permission allowed by Ada's phone" in portico.run("sessions", "export", session_id).text
    (audited,) = map(json.loads, portico.run("approvals", "export").text.splitlines())
    assert (audited["person"], audited["outcome"], audited["sessionId"]) == (
        "Ada's phone",
        "allowed",
        session_id,
    )


def test_a_device_sees_its_folders_only_and_is_cut_off_when_it_is_revoked(
    portico: Portico, server: Server, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    own = str(server.ask("StartSession", {"workspace": str(other)})["session"]["summary"]["sessionId"])
    hidden = str(server.ask("StartSession", {})["session"]["summary"]["sessionId"])
    phone = PairedDevice(server, "--workspace", str(other))
    listed = phone.ask("ListSessions")["sessions"]
    assert [one["sessionId"] for one in listed] == [own]
    assert "no session" in phone.refusal("GetSession", sessionId=hidden)
    assert "no session" in phone.refusal("SubmitPrompt", sessionId=hidden, text="say more")
    assert "these folders only" in phone.refusal("StartSession")
    assert "these folders only" in phone.refusal("SearchSessions", words="say")
    watching = phone.watch(own)
    phone.ask("SubmitPrompt", sessionId=own, text="say hello")
    watching.until("hello")
    assert "Browser on Android  owner" in portico.run("devices", "list").text
    assert portico.run("devices", "revoke", "Browser on Android").text == "Revoked: Browser on Android.\n"
    with suppress(AssertionError):  # It is cut off, with or without a last word.
        watching.end()
    assert phone.call("ListSessions").status == 401
    assert (
        'No device is called "Browser on Android"'
        in portico.run("devices", "revoke", "Browser on Android").err
    )


def test_codes_expire_and_the_file_has_no_secret(tmp_path: Path) -> None:
    devices = DeviceFile(tmp_path)
    late = devices.offer(name="", role="owner", workspaces=(), now_ms=0)
    assert devices.pair(late, name="Phone", now_ms=CODE_SECONDS * 1000) is None
    codes = [devices.offer(name="", role="viewer", workspaces=(), now_ms=0) for _ in range(2)]
    tokens = [devices.pair(code, name="Phone", now_ms=1) for code in codes]
    for token in tokens:
        assert token is not None
        caller = DeviceFile(tmp_path).find(token)
        assert caller is not None
        assert (caller.name, caller.role) == ("Phone", "viewer")
        assert devices.find(f"{token}x") is None
        assert token.partition(".")[2] not in (tmp_path / "devices.json").read_text()
    assert devices.pair(codes[0], name="Phone", now_ms=1) is None
    with pytest.raises(InvalidInput, match="Several devices"):
        devices.revoke("Phone")
    assert (tmp_path / "devices.json").stat().st_mode & 0o077 == 0


def permissions(device: PairedDevice, session_id: str) -> list[Json]:
    found: list[Json] = device.ask("GetSession", sessionId=session_id)["session"].get("permissions", [])
    return found


def state(device: PairedDevice, session_id: str) -> str:
    return str(device.ask("GetSession", sessionId=session_id)["session"]["summary"]["state"])
