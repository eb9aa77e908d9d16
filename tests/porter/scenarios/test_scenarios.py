"""Scenarios: those that come with Porter, those of people and projects, and what is said of broken ones."""

from pathlib import Path

import pytest
import yaml

from portico.acp import _schema as schema
from portico.domain import codecs
from portico.porter.scenarios import yaml_document
from portico.porter.scenarios.catalog import load_scenarios, parse_scenario
from portico.porter.scenarios.scenario import InvalidScenario, Scenario, ScenarioMode
from portico.porter.tools.catalog import TOOLS
from portico.rpc.messages import INVALID_PARAMS, RpcError
from tests.porter.client import Client, connected
from tests.porter.loop.scripted import NAME, Say, ScriptedModel

GOOD = """\
name: REVIEW
description: Looks at changes
mode: read
tools: [read, grep]
model: scripted:other
instructions: |
  Look twice.
limits:
  steps: 5
"""


def write(folder: Path, text: str, name: str = "review.yaml") -> Path:
    scenarios = folder / ".portico" / "scenarios"
    scenarios.mkdir(parents=True, exist_ok=True)
    path = scenarios / name
    path.write_text(text)
    return path


async def test_scenarios_are_the_modes_of_a_session(client: Client, folder: Path) -> None:
    write(folder, GOOD)
    request = schema.NewSessionRequest(cwd=str(folder), mcp_servers=[])
    modes = (await client.end.new_session(request, client.opened.append)).modes
    assert modes is not None
    assert modes.current_mode_id == "CODE"
    assert [mode.id for mode in modes.available_modes] == [
        "CODE", "ASK", "EDITOR_CODE", "PLAN", "RESEARCH", "REVIEW",
    ]  # fmt: skip
    assert [mode.name for mode in modes.available_modes][:3] == ["Code", "Ask", "Editor code"]
    assert modes.available_modes[-1].description == "Looks at changes"


async def test_a_chosen_scenario_holds_and_is_remembered(state: Path, folder: Path) -> None:
    model = ScriptedModel([Say("One."), Say("Two.")])
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder)
        await client.end.set_mode(schema.SetSessionModeRequest(session_id=session, mode_id="ASK"))
        await client.prompt(session, "hello")
        with pytest.raises(RpcError, match="unknown scenario 'ASKK'; available: CODE, ASK") as caught:
            await client.end.set_mode(schema.SetSessionModeRequest(session_id=session, mode_id="ASKK"))
        assert caught.value.code == INVALID_PARAMS
    assert [tool.name for tool in model.requests[0].tools] == [
        "read",
        "list",
        "glob",
        "grep",
        "ask",
        "read_output",
    ]
    assert "# How you work now: ASK" in model.requests[0].system
    async with connected(state, setup_of=model.setup()) as client:
        request = schema.LoadSessionRequest(session_id=session, cwd=str(folder), mcp_servers=[])
        modes = (await client.end.load_session(request)).modes
        assert modes is not None
        assert modes.current_mode_id == "ASK"


def test_a_file_of_the_workspace_replaces_one_of_the_user_by_name(tmp_path: Path) -> None:
    user = tmp_path / "user"
    user.mkdir()
    (user / "a.yaml").write_text(GOOD.replace("Looks at changes", "of the user"))
    (user / "b.yml").write_text(GOOD.replace("REVIEW", "MINE"))
    write(tmp_path, GOOD)
    found = load_scenarios(user, tmp_path, trusted=True)
    assert found.problems == ()
    assert found.by_name["REVIEW"].description == "Looks at changes"
    assert found.by_name["REVIEW"].limits.steps == 5
    assert found.by_name["MINE"].mode is ScenarioMode.READ


def test_a_workspace_that_is_not_trusted_chooses_no_model(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    assert load_scenarios(None, tmp_path, trusted=False).by_name["REVIEW"].model is None
    assert load_scenarios(None, tmp_path, trusted=True).by_name["REVIEW"].model == "scripted:other"


def test_a_workspace_that_is_not_trusted_lets_a_scenario_that_reads_do_no_more(tmp_path: Path) -> None:
    widened = (
        GOOD.replace("REVIEW", "ASK").replace("mode: read", "mode: write").replace("[read, grep]", "['*']")
    )
    write(tmp_path, widened)
    built_in = load_scenarios(None, tmp_path / "nothing", trusted=False).by_name["ASK"]
    found = load_scenarios(None, tmp_path, trusted=False).by_name["ASK"]
    assert (found.mode, found.tools, found.limits) == (ScenarioMode.READ, built_in.tools, built_in.limits)
    assert found.description == "Looks at changes"
    assert load_scenarios(None, tmp_path, trusted=True).by_name["ASK"].mode is ScenarioMode.WRITE


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        (GOOD.replace("mode: read", "mode: reed"), 3, "mode: Invalid enum value 'reed'"),
        (GOOD.replace("steps: 5", "steps: many"), 9, "limits.steps: Expected `int`, got `str`"),
        (GOOD.replace("steps: 5", "stepps: 5"), 9, "Object contains unknown field `stepps`"),
        (GOOD.replace("tools: [read, grep]", "tools:\n  - read\n  - 3"), 6, "tools.1: Expected `str`"),
        (GOOD.replace("[read, grep]", "[read, grep"), 5, "Invalid YAML"),
        (GOOD + "name: AGAIN\n", 10, "Duplicate key 'name'."),
        (GOOD.replace("name: REVIEW", "name: &a REVIEW"), 1, "Anchors and aliases are not supported."),
        (GOOD.replace("steps: 5", "steps: !!python/object/apply:os.system [true]"), 9, "limits.steps"),
        (GOOD.replace("name: REVIEW", "name: 2026-01-01"), 1, "neither text nor a whole number"),
        (GOOD.replace("name: REVIEW\n", ""), 1, "Object missing required field `name`"),
        (GOOD.replace("REVIEW", "no good"), 1, "name: Expected `str` matching regex"),
        ("", 1, "The file is empty."),
        ("- a\n- b\n", 1, "Expected `object`, got `array`"),
        ("a: " + "[" * 30_000 + "]" * 30_000, 1, "nested more than 20 levels deep"),
        ("x" * 70_000, 1, "larger than 64 KB"),
    ],
)
def test_a_broken_file_is_reported_with_its_line(text: str, line: int, why: str) -> None:
    problem = parse_scenario(text.encode(), "review.yaml")
    assert isinstance(problem, InvalidScenario)
    assert why in problem.why
    assert (problem.path, problem.line) == ("review.yaml", line)


@pytest.mark.parametrize("loader", [yaml.SafeLoader, getattr(yaml, "CSafeLoader", yaml.SafeLoader)])
@pytest.mark.parametrize("character", ["\x07", "\0", "\ufffe"])
def test_a_character_that_yaml_does_not_know_breaks_one_file_only(
    monkeypatch: pytest.MonkeyPatch, loader: type, character: str
) -> None:
    monkeypatch.setattr(yaml_document, "_LOADER", loader)
    problem = parse_scenario(f"name: a{character}b\n".encode(), "odd.yaml")
    assert isinstance(problem, InvalidScenario)
    assert "YAML" in problem.why


async def test_a_broken_file_is_told_to_the_person_and_the_others_hold(client: Client, folder: Path) -> None:
    path = write(folder, GOOD.replace("mode: read", "mode: reed"), "broken.yaml")
    write(folder, GOOD)
    session = await client.open(folder)
    await client.until(lambda: bool(client.updates(schema.Notice)))
    [notice] = client.updates(schema.Notice)
    assert notice.description == f"{path}:3: mode: Invalid enum value 'reed'"
    await client.end.set_mode(schema.SetSessionModeRequest(session_id=session, mode_id="REVIEW"))


def test_the_scenarios_that_come_with_porter_name_only_tools_that_exist(tmp_path: Path) -> None:
    names = {tool.name for tool in TOOLS}
    for scenario in load_scenarios(None, tmp_path, trusted=False).by_name.values():
        assert {tool for tool in scenario.tools if "__" not in tool} <= names
        writing = {tool.name for tool in TOOLS if scenario.offers(tool.name)} & {
            "edit",
            "write",
            "delete",
            "run",
        }
        assert bool(writing) == (scenario.mode is ScenarioMode.WRITE)


async def test_a_scenario_may_name_its_model(state: Path, folder: Path) -> None:
    opened: list[str] = []
    model = ScriptedModel([Say("Hi.")])

    def setup(_workspace: Path) -> object:
        from portico.porter.setup import PorterSetup

        def open_model(name: str) -> ScriptedModel:
            opened.append(name)
            return model

        return PorterSetup(choose=lambda: NAME, open=open_model, trusted=True)

    write(folder, GOOD)
    async with connected(state, setup_of=setup) as client:  # type: ignore[arg-type]
        session = await client.open(folder)
        await client.end.set_mode(schema.SetSessionModeRequest(session_id=session, mode_id="REVIEW"))
        await client.prompt(session, "hello")
    assert opened == ["scripted:other"]


async def test_a_tool_that_does_not_exist_is_told_once(state: Path, folder: Path) -> None:
    write(folder, GOOD.replace("[read, grep]", "[read, grpe, 'other__*', '*x']"))
    model = ScriptedModel([Say("One."), Say("Two.")])
    async with connected(state, setup_of=model.setup()) as client:
        session = await client.open(folder)
        await client.end.set_mode(schema.SetSessionModeRequest(session_id=session, mode_id="REVIEW"))
        await client.prompt(session, "one")
        await client.prompt(session, "two")
        [notice] = client.updates(schema.Notice)
        assert notice.title == "The scenario REVIEW names tools that do not exist: grpe."


def test_every_tool_has_a_schema_that_providers_accept() -> None:

    for tool in TOOLS:
        spec = tool.spec()
        schema_ = codecs.decode_json(spec.schema)
        assert schema_["type"] == "object", tool.name
        assert schema_["additionalProperties"] is False
        assert len(spec.description) > 20
    assert len({tool.name for tool in TOOLS}) == len(TOOLS)
    assert isinstance(parse_scenario(GOOD.encode(), "x"), Scenario)
