"""Choice of components for a chain: flags, then settings, then the built-in default; packages only if trusted."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from portico.chains.built_in_components import open_components
from portico.chains.component_registry import BuiltInComponent, ComponentRegistry, ComponentSwitches
from portico.components.component import Component, ComponentContext
from portico.conductor.proxy import Proxy
from portico.config.settings import Settings, load_settings
from portico.editors.local import LocalEditorProvider

PACKAGE = """
from portico.components.component import Component

class Weather(Component):
    name = "weather"
    summary = "the weather"

    def plan(self, context):
        return []
"""


class Plain(Component):
    name = "plain"
    summary = "nothing"
    closed = 0

    def plan(self, context: ComponentContext) -> Sequence[Proxy]:
        return []

    async def close(self) -> None:
        self.closed += 1


@pytest.fixture
def registry() -> ComponentRegistry:
    return ComponentRegistry({"usual": BuiltInComponent(Plain), "unusual": BuiltInComponent(Plain, on=False)})


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package with a component; importing it leaves a file behind."""
    imported = tmp_path / "imported"
    (tmp_path / "weather_component.py").write_text(f"open({str(imported)!r}, 'w').close()\n{PACKAGE}")
    info = tmp_path / "weather-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: weather\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[portico.components]\nweather = weather_component:Weather\n")
    monkeypatch.syspath_prepend(tmp_path)
    return imported


def settings(tmp_path: Path, text: str = "{}", *, of_workspace: str = "{}") -> Settings:
    config, workspace = tmp_path / "config", tmp_path / "workspace"
    for folder in (config, workspace / ".portico"):
        folder.mkdir(parents=True)
    (config / "settings.json").write_text(text)
    (workspace / ".portico" / "settings.json").write_text(of_workspace)
    return load_settings(config, workspace)


def chosen(registry: ComponentRegistry, found: Settings, *, on: str = "", off: str = "") -> dict[str, str]:
    switches = ComponentSwitches(on=tuple(on.split()), off=tuple(off.split()))
    return {one.name: one.reason for one in registry.chosen(found, switches)}


def test_a_component_is_on_as_it_is_built_in(registry: ComponentRegistry, tmp_path: Path) -> None:
    assert chosen(registry, settings(tmp_path)) == {"usual": "default"}


def test_settings_switch_components_on_and_off_and_give_options(
    registry: ComponentRegistry, tmp_path: Path
) -> None:
    found = settings(tmp_path, '{"components": {"usual": false, "unusual": {"depth": 3}}}')
    (only,) = registry.chosen(found, ComponentSwitches())
    assert (only.name, only.reason, only.options) == ("unusual", "settings", {"depth": 3})


def test_flags_go_before_settings_and_off_goes_before_on(registry: ComponentRegistry, tmp_path: Path) -> None:
    found = settings(tmp_path, '{"components": {"usual": false, "unusual": {"depth": 3}}}')
    switched = registry.chosen(found, ComponentSwitches(on=("usual", "unusual"), off=("usual",)))
    assert [(one.name, one.reason, one.options) for one in switched] == [
        ("unusual", "--component", {"depth": 3})
    ]


def test_a_folder_that_is_not_trusted_switches_nothing(registry: ComponentRegistry, tmp_path: Path) -> None:
    found = settings(tmp_path, of_workspace='{"components": {"usual": false, "unusual": true}}')
    assert chosen(registry, found) == {"usual": "default"}


def test_a_trusted_folder_switches_what_the_user_did_not(registry: ComponentRegistry, tmp_path: Path) -> None:
    trusting = f'{{"trustedWorkspaces": ["{tmp_path / "workspace"}"], "components": {{"usual": true}}}}'
    found = settings(tmp_path, trusting, of_workspace='{"components": {"usual": false, "unusual": true}}')
    assert chosen(registry, found) == {"usual": "settings", "unusual": "settings"}


def test_the_component_of_a_package_is_off_until_it_is_named_and_trusted(
    registry: ComponentRegistry, package: Path, tmp_path: Path
) -> None:
    found = settings(tmp_path / "a", '{"trustedPackages": ["weather"]}')
    assert chosen(registry, found) == {"usual": "default"}
    assert chosen(registry, found, on="weather") == {"usual": "default", "weather": "--component"}
    untrusting = settings(tmp_path / "b", '{"components": {"weather": true}}')
    assert chosen(registry, untrusting) == {"usual": "default"}
    (weather,) = [one for one in registry.choices(untrusting, ComponentSwitches()) if one.package]
    assert weather.reason == 'the package weather is not in "trustedPackages" of your settings'
    assert not package.exists()


def test_the_component_of_a_trusted_package_is_made(
    registry: ComponentRegistry, package: Path, tmp_path: Path
) -> None:
    found = settings(tmp_path / "a", '{"trustedPackages": ["weather"], "components": {"weather": true}}')
    (choice,) = [one for one in registry.chosen(found, ComponentSwitches()) if one.package]
    assert registry.component(choice, found.trusted_packages).summary == "the weather"
    assert package.exists()


async def test_a_component_is_made_once_and_closed_once(registry: ComponentRegistry, tmp_path: Path) -> None:
    (choice,) = registry.chosen(settings(tmp_path), ComponentSwitches())
    made = registry.component(choice, ())
    assert registry.component(choice, ()) is made
    await registry.close()
    await registry.close()
    assert isinstance(made, Plain)
    assert made.closed == 1


def test_the_built_in_components_can_be_made(tmp_path: Path) -> None:
    registry = open_components({"PORTICO_HOME": str(tmp_path)}, lambda: LocalEditorProvider({}))
    for choice in registry.choices(settings(tmp_path), ComponentSwitches()):
        component = registry.component(choice, ())
        assert component.name == choice.name
        assert component.summary
