"""Settings as a page shows and changes them: what holds, whose it is, all changes or none."""

import json
import stat
import sys
from pathlib import Path

import pytest

from portico.conductor.permissions.policy import parse_rule
from portico.config.setting_descriptions import describe_settings
from portico.config.settings import load_settings
from portico.config.settings_editor import change_user_settings
from portico.domain.errors import InvalidInput


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    (folder / ".portico").mkdir(parents=True)
    return folder


def described(config: Path, workspace: Path) -> dict[str, tuple[object, str]]:
    return {
        one.name: (json.loads(one.value_json), one.source) for one in describe_settings(config, workspace)
    }


def project(workspace: Path, **settings: object) -> None:
    (workspace / ".portico" / "settings.json").write_text(json.dumps(settings))


def trust(config: Path, workspace: Path) -> None:
    change_user_settings(config, [("trustedWorkspaces", json.dumps([str(workspace)]))])


def test_what_nobody_has_set_is_built_in(config: Path, workspace: Path) -> None:
    assert {source for _, source in described(config, workspace).values()} == {"built-in"}
    assert described(config, workspace)["agent"] == ("porter", "built-in")


def test_a_setting_that_is_changed_is_the_user_s_until_it_is_taken_away(
    config: Path, workspace: Path
) -> None:
    change_user_settings(config, [("agent", '"claude"'), ("permissions", '{"allow": ["Bash(git:*)"]}')])
    assert described(config, workspace)["agent"] == ("claude", "user")
    assert load_settings(config, workspace).permissions.allow == ("Bash(git:*)",)
    change_user_settings(config, [("agent", "")])
    assert described(config, workspace)["agent"] == ("porter", "built-in")
    assert described(config, workspace)["permissions"][1] == "user"


def test_a_folder_chooses_its_agent_and_programs_only_if_it_is_trusted(config: Path, workspace: Path) -> None:
    project(workspace, agent="claude", agents={"mine": {"command": "evil"}})
    change_user_settings(config, [("agent", '"codex"')])
    shown = described(config, workspace)
    assert shown["agent"] == ("codex", "user")
    assert shown["agents"] == ({}, "built-in")
    trust(config, workspace)
    assert described(config, workspace)["agent"] == ("claude", "workspace")
    value, source = described(config, workspace)["agents"]
    assert source == "workspace"
    assert isinstance(value, dict)
    assert list(value) == ["mine"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("colour", '"red"'),
        ("agent", "red"),
        ("agent", "7"),
        ("agent", '"a", "trustedWorkspaces": ["/"]'),
        ("permissions", '{"allow": "everything"}'),
    ],
)
def test_a_change_that_is_wrong_changes_nothing_not_even_what_was_right(
    config: Path, workspace: Path, name: str, value: str
) -> None:
    change_user_settings(config, [("agent", '"claude"')])
    before = (config / "settings.json").read_text()
    with pytest.raises(InvalidInput):
        change_user_settings(config, [("proxies", "{}"), (name, value)])
    assert (config / "settings.json").read_text() == before


@pytest.mark.skipif(sys.platform == "win32", reason="modes are POSIX")
def test_the_file_is_its_owner_s_alone(config: Path) -> None:
    change_user_settings(config, [("agent", '"claude"')])
    assert stat.S_IMODE((config / "settings.json").stat().st_mode) == 0o600


def test_a_folder_that_is_not_trusted_can_only_take_away(config: Path, workspace: Path) -> None:
    project(
        workspace,
        agent="claude",
        agents={"mine": {"command": "evil", "bypassPermissions": True}},
        proxies={"mine": {"command": "evil"}},
        components={"code": False, "evil": True, "history": {"evil": 1}},
        model="evil:one",
        models={"evil": {"address": "http://evil.example"}},
        mcpServers={"evil": {"command": "evil"}},
        permissions={"allow": ["all"], "deny": ["execute:rm *"]},
        review={"mode": "worktree", "allow": [".git"], "deny": ["dist"], "linked": ["/"]},
        budgets={"turn": {"tokens": 5}},
        trustedWorkspaces=[str(workspace)],
    )
    change_user_settings(config, [("budgets", '{"turn": {"tokens": 9, "dollars": 1}}')])
    holds = load_settings(config, workspace)
    assert not holds.trusted
    assert (holds.agent, holds.agents, holds.proxies, holds.components) == ("porter", {}, {}, {})
    assert (holds.model, holds.models, holds.mcp_servers) == (None, {}, {})
    assert (holds.permissions.allow, holds.permissions.deny) == ((), ("execute:rm *",))
    assert (holds.mode, holds.review.allow, holds.review.deny) == ("direct", (), ("dist",))
    assert holds.review.linked == ()
    assert (holds.budgets.turn.tokens, holds.budgets.turn.dollars) == (5, 1)
    sources = {name: source for name, (_, source) in described(config, workspace).items()}
    taken = {"permissions": "workspace", "review": "workspace", "budgets": "user and workspace"}
    assert sources == dict.fromkeys(sources, "built-in") | taken


def test_a_trusted_folder_chooses_how_changes_reach_it_unless_the_user_has(
    config: Path, workspace: Path
) -> None:
    project(workspace, review={"mode": "proposal", "deny": ["dist"], "linked": ["node_modules"]})
    trust(config, workspace)
    holds = load_settings(config, workspace)
    assert (holds.mode, holds.review.deny, holds.review.linked) == ("proposal", ("dist",), ())
    assert described(config, workspace)["review"][1] == "workspace"
    change_user_settings(config, [("review", '{"mode": "worktree", "allow": ["src"], "deny": ["*.lock"]}')])
    holds = load_settings(config, workspace)
    assert (holds.mode, holds.review.allow, holds.review.deny) == ("worktree", ("src",), ("*.lock", "dist"))
    assert described(config, workspace)["review"][1] == "user and workspace"


JUNK = {
    "no JSON": b"{",
    "no object": b"[]",
    "an unknown setting": b'{"colour": 1}',
    "a wrong type": b'{"permissions": {"deny": "all"}}',
    "no UTF-8": b'{"agent": "\xff"}',
    "nested": b"[" * 200_000,
    "too large": b" " * (2 << 20),
    "strings without an end": b'"' + b'\\"' * 300_000,
    "comments without an end": b"/*" * 300_000,
}


@pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK)
@pytest.mark.parametrize("trusted", [True, False])
def test_junk_in_a_folder_s_settings_is_reported_and_ignored(
    config: Path, workspace: Path, junk: bytes, trusted: bool
) -> None:
    change_user_settings(config, [("agent", '"claude"')])
    if trusted:
        trust(config, workspace)
    (workspace / ".portico" / "settings.json").write_bytes(junk)
    holds = load_settings(config, workspace)
    assert (holds.agent, holds.trusted) == ("claude", trusted)
    (problem,) = holds.problems
    assert str(workspace / ".portico" / "settings.json") in problem
    assert problem.endswith("The settings of this folder are ignored.")
    assert described(config, workspace)["agent"] == ("claude", "user")


@pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK)
def test_junk_in_the_user_s_own_settings_is_an_error(config: Path, workspace: Path, junk: bytes) -> None:
    config.mkdir()
    (config / "settings.json").write_bytes(junk)
    with pytest.raises(InvalidInput, match=r"settings\.json"):
        load_settings(config, workspace)


@pytest.mark.parametrize("trusted", [True, False])
def test_a_rule_of_a_folder_that_is_none_is_reported_and_the_others_hold(
    config: Path, workspace: Path, trusted: bool
) -> None:
    if trusted:
        trust(config, workspace)
    project(workspace, permissions={"deny": ["fly", "edit:", "/edit", "edit:x", "claude/read"]})
    holds = load_settings(config, workspace)
    assert holds.permissions.deny == ("edit:x", "claude/read")
    assert [one for one in ("'fly'", "'edit:'", "'/edit'") if one in " ".join(holds.problems)] == [
        "'fly'",
        "'edit:'",
        "'/edit'",
    ]
    for rule in holds.permissions.deny:
        parse_rule(rule)


def test_a_mode_that_does_not_exist_is_refused(config: Path, workspace: Path) -> None:
    with pytest.raises(InvalidInput, match="review"):
        change_user_settings(config, [("review", '{"mode": "careful"}')])
    assert load_settings(config, workspace).mode == "direct"


def test_a_trusted_folder_is_the_same_by_every_way_that_leads_to_it(config: Path, workspace: Path) -> None:
    link = workspace.parent / "link"
    link.symlink_to(workspace)
    for named in (link, workspace, f"{workspace}/"):
        change_user_settings(config, [("trustedWorkspaces", json.dumps([str(named)]))])
        assert load_settings(config, workspace).trusted
        assert load_settings(config, link).trusted


@pytest.mark.parametrize("named", [".", "", "workspace", "~nobody-here/workspace"])
def test_a_folder_that_is_named_in_part_is_not_trusted(
    config: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    change_user_settings(config, [("trustedWorkspaces", json.dumps([named]))])
    for place in (workspace, workspace.parent):
        monkeypatch.chdir(place)
        assert not load_settings(config, workspace).trusted


def test_a_file_with_a_mark_of_its_order_of_bytes_is_read_and_changed(config: Path, workspace: Path) -> None:
    config.mkdir()
    (config / "settings.json").write_text('\ufeff{"agent": "claude"}')
    assert load_settings(config, workspace).agent == "claude"
    change_user_settings(config, [("model", '"mine:one"')])
    assert load_settings(config, workspace).model == "mine:one"


def test_a_link_to_settings_that_are_kept_elsewhere_stays_one(config: Path, workspace: Path) -> None:
    kept = config.parent / "dotfiles" / "portico.json"
    kept.parent.mkdir()
    kept.write_text('{"agent": "claude"}')
    config.mkdir()
    (config / "settings.json").symlink_to(kept)
    change_user_settings(config, [("agent", '"codex"')])
    assert (config / "settings.json").is_symlink()
    assert json.loads(kept.read_text()) == {"agent": "codex"}


def test_settings_that_cannot_be_written_are_named(config: Path) -> None:
    config.write_text("this is no folder")
    with pytest.raises(InvalidInput, match=r"settings\.json cannot be written: "):
        change_user_settings(config, [("agent", '"codex"')])
