"""`portico config`: every setting with its owner and source; changes keep comments and respect owners."""

import json

from portico.config.setting_descriptions import SETTINGS
from tests.support.program import Portico


def test_every_setting_is_listed_with_owner_source_and_value(portico: Portico) -> None:
    told = portico.run("config", "list", "--api").api
    assert [one["name"] for one in told["settings"]] == list(SETTINGS)
    agent = {one["name"]: one for one in told["settings"]}["maxCostUsd"]
    assert (agent["value"], agent["owner"], agent["source"]) == (1.0, "user", "built-in")
    shown = portico.run("config", "list")
    assert (shown.code, shown.err) == (0, "")
    assert any(line.split()[:3] == ["maxCostUsd", "user's", "built-in"] for line in shown.text.splitlines())


def test_a_setting_is_changed_by_name_or_part_and_comments_survive(portico: Portico) -> None:
    path = portico.home / "portico" / "config" / "settings.json"
    path.parent.mkdir(parents=True)
    path.write_text('{\n  // mine\n  "review": {\n    "deny": ["x"] // never\n  }\n}\n')
    assert portico.run("config", "set", "review.mode", "proposal").code == 0
    assert portico.run("config", "set", "maxCostUsd", "2.5").code == 0
    text = path.read_text()
    assert "// mine" in text
    assert "// never" in text
    assert portico.run("config", "get", "review.mode").text == "proposal\n"
    told = portico.run("config", "get", "maxCostUsd", "--api").api["setting"]
    assert (told["value"], told["source"]) == (2.5, "user")
    assert portico.run("config", "unset", "review.mode").code == 0
    assert portico.run("config", "get", "review.deny").text == '["x"]\n'
    assert portico.run("config", "get", "review.mode").text == "null\n"
    assert portico.run("config", "path").text.strip() == str(path)


def test_a_workspace_cannot_be_given_what_belongs_to_the_user(portico: Portico) -> None:
    path = portico.workspace / ".portico" / "settings.json"
    for name, value in (("model", "a:b"), ("agents", "{}"), ("permissions.allow", '["all"]')):
        refused = portico.run("config", "set", name, value, "--workspace", "--api")
        assert refused.code == 5
        assert f"{name} belongs to the user" in refused.api["error"]
        assert "--workspace" in refused.api["diagnostics"]["suggestion"]
    assert not path.exists()
    assert portico.run("config", "set", "promptDirectories", '["docs"]', "--workspace").code == 0
    assert portico.run("config", "set", "budgets.turn.dollars", "0.2", "--workspace").code == 0
    assert json.loads(path.read_text()) == {
        "promptDirectories": ["docs"],
        "budgets": {"turn": {"dollars": 0.2}},
    }
    told = portico.run("config", "get", "maxCostUsd", "--api").api["setting"]
    assert (told["value"], told["source"]) == (0.2, "workspace")


def test_mistakes_change_nothing_and_name_what_is_possible(portico: Portico) -> None:
    for words in (
        ("get", "colour"),
        ("get", "review.colour"),
        ("set", "colour", "red"),
        ("set", "maxCostUsd", "much"),
        ("set", "maxCostUsd", "-1"),
        ("set", "review.mode", "careful"),
        ("set", "agent.name", "x"),
        ("set", "review..mode", "direct"),
    ):
        refused = portico.run("config", *words, "--api")
        assert (refused.code, refused.api["status"]) == (5, "failed"), words
    assert not (portico.home / "portico" / "config" / "settings.json").exists()


def test_a_link_in_place_of_the_settings_of_a_folder_is_not_written_through(portico: Portico) -> None:
    outside = portico.home / "outside"
    outside.mkdir(parents=True)
    (portico.workspace / ".portico").symlink_to(outside)
    refused = portico.run("config", "set", "promptDirectories", '["x"]', "--workspace", "--api")
    assert (refused.code, "behind a link" in refused.api["error"]) == (5, True)
    assert list(outside.iterdir()) == []
