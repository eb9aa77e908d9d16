"""`portico components list`, and the flags that switch components in the doors."""

import json
import shlex
import sys

from tests.support.program import Portico
from tests.support.stream import Json

BROKEN = {"command": sys.executable, "args": ["-c", "import sys; sys.exit('no licence')"]}
GONE = {"command": "/no/such/program"}


def listed(portico: Portico, *flags: str) -> dict[str, Json]:
    found = json.loads(portico.run("components", "list", "--api", *flags).text)
    assert found["status"] == "ok"
    return {one["name"]: one for one in found["components"]}


def test_each_component_has_a_state_and_a_reason(portico: Portico) -> None:
    found = listed(portico)
    assert (found["editor"]["state"], found["editor"]["reason"]) == ("on", "default")
    assert found["editor"]["origin"] == "built in"
    text = portico.run("components", "list").text
    assert all(f" {name} " in text and one["reason"] in text for name, one in found.items())


def test_flags_settings_and_proxies_are_told_apart(portico: Portico) -> None:
    proxies = {"mine": {"command": "my-proxy", "args": ["-v"]}, "other": {"command": "other"}}
    portico.settings({"components": {"editor": False, "mine": True, "typo": True}, "proxies": proxies})
    found = listed(portico, "--component", "other", "--no-component", "code")
    states = {name: (one["state"], one["reason"]) for name, one in found.items()}
    assert states["editor"] == ("off", "settings")
    assert states["mine"] == ("on", "settings")
    assert states["other"] == ("on", "--component")
    assert states["typo"] == ("failed", "unknown name in the settings")
    assert states["code"] == ("off", "--no-component")
    assert (found["mine"]["origin"], found["mine"]["summary"]) == ("proxy", "my-proxy -v")


def test_a_folder_that_is_not_trusted_switches_nothing(portico: Portico) -> None:
    folder = portico.workspace / ".portico"
    folder.mkdir()
    (folder / "settings.json").write_text(
        '{"components": {"editor": false}, "proxies": {"evil": {"command": "x"}}}'
    )
    found = listed(portico)
    assert found["editor"]["state"] == "on"
    assert "evil" not in found


def test_the_chain_of_an_agent_is_started_and_says_what_was_left_out(portico: Portico) -> None:
    words = shlex.split(portico.agent)
    portico.settings(
        {
            "proxies": {"broken": BROKEN},
            "components": {"broken": True},
            "agents": {"scripted": {"command": words[0], "args": words[1:]}},
        }
    )
    assert listed(portico)["broken"]["state"] == "on", "it is not tried without an agent"
    found = listed(portico, "--agent", "scripted")
    assert found["broken"]["state"] == "failed"
    assert "no licence" in found["broken"]["reason"]
    assert found["editor"]["state"] == "on"
    failed = portico.run("components", "list", "--agent", "nosuch")
    assert failed.code != 0
    assert "nosuch" in failed.err


def test_an_unknown_component_is_named_with_those_that_there_are(portico: Portico) -> None:
    failed = portico.run("exec", "--component", "nosuch", "/help")
    assert failed.code == 5
    assert 'Unknown component "nosuch". Available: editor, align-first, code' in failed.err


def test_proxies_that_fail_are_named_and_left_out_and_the_turn_goes_on(portico: Portico) -> None:
    portico.settings(
        {"proxies": {"broken": BROKEN, "gone": GONE}, "components": {"broken": True, "gone": True}}
    )
    events = [json.loads(line) for line in portico.run("exec", "--json-stream", "/help").text.splitlines()]
    notices = [event["payload"]["text"] for event in events if event["type"] == "notice"]
    assert any("The proxy broken is left out." in text and "no licence" in text for text in notices)
    assert any("The proxy gone is left out." in text and "/no/such/program" in text for text in notices)
    assert events[-1]["type"] == "done"


def test_a_required_proxy_that_fails_ends_the_run(portico: Portico) -> None:
    portico.settings({"proxies": {"gone": GONE}})
    failed = portico.run("exec", "--proxy", "gone", "/help")
    assert failed.code == 5
    assert "The proxy gone cannot be started" in failed.err


def test_a_server_refuses_an_unknown_component_when_it_starts(portico: Portico) -> None:
    failed = portico.run("serve", "--no-component", "nosuch")
    assert failed.code == 5
    assert 'Unknown component "nosuch".' in failed.err
