"""Precedence of settings: every setting, by owner, in every combination of sources."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from portico.config.setting_descriptions import SETTINGS, describe_settings
from portico.config.settings import SettingsFile
from portico.config.window_settings import NO_WINDOW, WindowSettings, parse_window_settings
from portico.domain.errors import InvalidInput

RULE_USER, RULE_PROJECT = "edit:user/*", "edit:project/*"


class Case:
    """A setting with a value in each file, and the effective value in each combination of sources."""

    def __init__(self, user: object, project: object, /, **expected: object) -> None:
        self.of_user, self.of_project = user, project
        self.expected: dict[str, Any] = expected


def merged(user: object, project: object, *, untrusted: object = None) -> Case:
    """A user's setting with entries by name: those of a trusted workspace are added."""
    assert isinstance(user, dict)
    assert isinstance(project, dict)
    both = project | user
    return Case(user, project, nothing={}, user=user, trusted=project, both=both, untrusted=untrusted or {})


DIRECTORIES = {"workspace": ["W/.portico/prompts"], "user": ["C/prompts"]}
CASES = {
    "agent": Case("u", "p", nothing="porter", user="u", trusted="p", both="p", untrusted="porter"),
    "agents": merged({"u": {"command": "u"}}, {"p": {"command": "p"}}),
    "proxies": merged({"u": {"command": "u"}}, {"p": {"command": "p"}}),
    "components": merged({"a": True, "u": True}, {"a": False, "p": True}),
    "model": Case("u:u", "p:p", nothing=None, user="u:u", trusted="p:p", both="u:u", untrusted=None),
    "models": merged({"u": {"address": "http://u"}}, {"p": {"address": "http://p"}}),
    "maxCostUsd": Case(3.0, 5.0, nothing=1.0, user=3.0, trusted=1.0, both=3.0, untrusted=1.0),
    "budgets": Case(
        {"turn": {"tokens": 9}, "day": {"tokens": 8}},
        {"turn": {"tokens": 5}, "day": {"tokens": 99}},
        nothing={},
        user={"turn.tokens": 9, "day.tokens": 8},
        trusted={"turn.tokens": 5, "day.tokens": 99},
        both={"turn.tokens": 5, "day.tokens": 8},
        untrusted={"turn.tokens": 5, "day.tokens": 99},
    ),
    "promptDirectories": Case(
        ["mine"],
        ["ours"],
        nothing=DIRECTORIES,
        user=DIRECTORIES | {"user": ["C/mine"]},
        trusted=DIRECTORIES | {"workspace": ["W/ours"]},
        both={"workspace": ["W/ours"], "user": ["C/mine"]},
        untrusted=DIRECTORIES | {"workspace": ["W/ours"]},
    ),
    "sessionVariables": Case(
        "mine.json",
        "ours.json",
        nothing={"workspace": [], "user": []},
        user={"workspace": [], "user": ["C/mine.json"]},
        trusted={"workspace": ["W/ours.json"], "user": []},
        both={"workspace": ["W/ours.json"], "user": ["C/mine.json"]},
        untrusted={"workspace": ["W/ours.json"], "user": []},
    ),
    "mcpServers": merged({"u": {"command": "u"}}, {"p": {"command": "p"}}),
    "languageServers": merged({"u": {"command": "u"}}, {"p": {"command": "p"}}),
    "permissions": Case(
        {"allow": [RULE_USER], "deny": [RULE_USER]},
        {"allow": [RULE_PROJECT], "deny": [RULE_PROJECT]},
        nothing={"allow": [], "deny": []},
        user={"allow": [RULE_USER], "deny": [RULE_USER]},
        trusted={"allow": [RULE_PROJECT], "deny": [RULE_PROJECT]},
        both={"allow": [RULE_USER, RULE_PROJECT], "deny": [RULE_USER, RULE_PROJECT]},
        untrusted={"allow": [], "deny": [RULE_PROJECT]},
    ),
    "review": Case(
        {"mode": "proposal", "allow": ["u"], "deny": ["u"], "linked": ["u"]},
        {"mode": "direct", "allow": ["p"], "deny": ["p"], "linked": ["p"]},
        nothing={"mode": None, "allow": [], "deny": [], "linked": []},
        user={"mode": "proposal", "allow": ["u"], "deny": ["u"], "linked": ["u"]},
        trusted={"mode": "direct", "allow": ["p"], "deny": ["p"], "linked": []},
        both={"mode": "proposal", "allow": ["u"], "deny": ["u", "p"], "linked": ["u"]},
        untrusted={"mode": None, "allow": [], "deny": ["p"], "linked": []},
    ),
    "sandbox": Case(
        {"level": "workspace", "network": ["u:1"]},
        {"level": "none", "required": True, "network": ["p:1"]},
        nothing={"level": None, "required": False, "network": []},
        user={"level": "workspace", "required": False, "network": ["u:1"]},
        trusted={"level": None, "required": True, "network": []},
        both={"level": "workspace", "required": True, "network": ["u:1"]},
        untrusted={"level": None, "required": True, "network": []},
    ),
    "trustedWorkspaces": Case(["/u"], ["/p"], nothing=[], user=["/u"], trusted=[], both=["/u"], untrusted=[]),
    "trustedPackages": Case(["u"], ["p"], nothing=[], user=["u"], trusted=[], both=["u"], untrusted=[]),
}
SOURCES = ("nothing", "user", "trusted", "both", "untrusted")
ENVIRONMENT = {
    "agent": ({"PORTICO_AGENT": "e"}, "e"),
    "model": ({"PORTICO_MODEL": "e:e"}, "e:e"),
    "maxCostUsd": ({"PORTICO_BUDGET_TURN": "$9"}, 9.0),
    "budgets": ({"PORTICO_BUDGET_TURN": "7", "PORTICO_BUDGET_DAY": "6"}, {"turn.tokens": 7, "day.tokens": 6}),
    "sandbox": ({"PORTICO_SANDBOX": "strict"}, {"level": "strict"}),
}


EDITOR: dict[str, tuple[dict[str, Any], Any]] = {
    "agent": ({"agent": "w"}, "w"),
    "model": ({"model": "w:w"}, "w:w"),
    "maxCostUsd": ({"maxCostUsd": 9.0}, 9.0),
    "promptDirectories": ({"promptDirectories": ["w"]}, {"user": ["C/w"]}),
    "sessionVariables": ({"sessionVariables": "w.json"}, {"user": ["C/w.json"]}),
    "components": ({"components": {"a": False}}, {"a": False}),
    "review": ({"reviewMode": "branch"}, {"mode": "branch"}),
    "sandbox": ({"sandbox": "strict"}, {"level": "strict"}),
}
"""User settings of an editor window, and the effective value."""
OF_THE_WORKSPACE = {
    **dict.fromkeys(product(["agent"], ["trusted", "both"]), "p"),
    **dict.fromkeys(product(["maxCostUsd"], ["trusted", "both", "untrusted"]), 5.0),
}
"""Cases in which the workspace decides anyway: its own settings, and lower limits."""


class Setup:
    def __init__(self, top: Path) -> None:
        self.config, self.workspace = top / "C", top / "W"
        (self.workspace / ".portico").mkdir(parents=True)
        self.config.mkdir()

    def effective(
        self,
        name: str,
        source: str,
        environ: dict[str, str] | None = None,
        window: WindowSettings = NO_WINDOW,
    ) -> tuple[Any, str, str]:
        case = CASES[name]
        user: dict[str, Any] = {}
        if source in ("user", "both"):
            user[name] = case.of_user
        if source in ("trusted", "both"):
            user["trustedWorkspaces"] = [*user.get("trustedWorkspaces", []), str(self.workspace)]
        (self.config / "settings.json").write_text(json.dumps(user))
        project = {name: case.of_project} if source not in ("nothing", "user") else {}
        (self.workspace / ".portico" / "settings.json").write_text(json.dumps(project))
        described = describe_settings(self.config, self.workspace, environ or {}, window)
        found = {one.name: one for one in described}[name]
        text = found.value_json.replace(str(self.workspace), "W").replace(str(self.config), "C")
        value = json.loads(text)
        if name == "trustedWorkspaces":
            value = [one for one in value if one != "W"]
        return value, found.source, found.owner


@pytest.fixture
def setup(tmp_path: Path) -> Setup:
    return Setup(tmp_path)


def test_no_setting_is_missing_from_this_table() -> None:
    fields = set(SettingsFile.__struct_encode_fields__)
    assert set(CASES) == set(SETTINGS) == fields


@pytest.mark.parametrize(("name", "source"), list(product(CASES, SOURCES)))
def test_the_effective_value_of_a_setting(setup: Setup, name: str, source: str) -> None:
    value, told, owner = setup.effective(name, source)
    assert contains(value, CASES[name].expected[source]), value
    assert owner == SETTINGS[name].owner
    initial = CASES[name].expected["nothing"]
    if CASES[name].expected[source] == initial:
        # Trusting the workspace is a setting of the user itself.
        assert told == ("user" if (name, source) == ("trustedWorkspaces", "trusted") else "built-in")
    elif source in ("trusted", "untrusted"):
        assert told == "workspace"
    elif source == "user":
        assert told == "user"
    else:
        assert told != "built-in"


@pytest.mark.parametrize(("name", "source"), list(product(ENVIRONMENT, SOURCES)))
def test_the_environment_comes_before_both_files(setup: Setup, name: str, source: str) -> None:
    environ, expected = ENVIRONMENT[name]
    value, told, _ = setup.effective(name, source, environ)
    assert contains(value, expected), value
    assert told == "environment"


@pytest.mark.parametrize(("name", "source"), list(product(EDITOR, SOURCES)))
def test_an_editor_window_comes_before_the_file_of_its_owner(setup: Setup, name: str, source: str) -> None:
    chosen, expected = EDITOR[name]
    window = parse_window_settings(json.dumps({"user": chosen}))
    value, told, _ = setup.effective(name, source, None, window)
    assert contains(value, OF_THE_WORKSPACE.get((name, source), expected)), value
    without, _, _ = setup.effective(name, source)
    assert (told == "editor") is (value != without)


@pytest.mark.parametrize("name", sorted(set(EDITOR) & set(ENVIRONMENT)))
def test_the_environment_comes_before_an_editor_window(setup: Setup, name: str) -> None:
    environ, expected = ENVIRONMENT[name]
    window = parse_window_settings(json.dumps({"user": EDITOR[name][0]}))
    value, told, _ = setup.effective(name, "both", environ, window)
    assert contains(value, expected), value
    assert told == "environment"


def test_a_folder_chooses_in_an_editor_only_what_belongs_to_the_project(setup: Setup) -> None:
    everything = {key: value for chosen, _ in EDITOR.values() for key, value in chosen.items()}
    window = parse_window_settings(json.dumps({"workspace": everything}))
    changed = {name for name in EDITOR if setup.effective(name, "nothing", None, window)[1] == "editor"}
    assert changed == {"agent", "promptDirectories", "sessionVariables"}


def test_a_workspace_lowers_the_cost_of_a_turn_and_never_raises_it(setup: Setup) -> None:
    def cost(user: float | None, project: float | None) -> object:
        mine = {"trustedWorkspaces": [str(setup.workspace)], "maxCostUsd": user}
        (setup.config / "settings.json").write_text(json.dumps(mine))
        theirs = json.dumps({"maxCostUsd": project, "budgets": {"turn": {"dollars": project}}})
        (setup.workspace / ".portico" / "settings.json").write_text(theirs)
        described = describe_settings(setup.config, setup.workspace)
        return json.loads({one.name: one for one in described}["maxCostUsd"].value_json)

    assert cost(None, 5.0) == 1.0
    assert cost(None, 0.2) == 0.2
    assert cost(3.0, 5.0) == 3.0
    assert cost(3.0, 2.0) == 2.0
    with pytest.raises(InvalidInput, match="maxCostUsd"):
        cost(-1.0, None)


def contains(value: Any, expected: Any) -> bool:
    """Whether a value has all expected parts; the key of a part may be a path."""
    if not isinstance(expected, dict):
        return bool(value == expected)
    return all(contains(part_of(value, key), part) for key, part in expected.items())


def part_of(value: Any, key: str) -> Any:
    for name in [key] if key in value else key.split("."):
        value = value.get(name)
    return value
