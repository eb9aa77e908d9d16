"""Loads the scenarios of a workspace: built-in ones, overridden by the user's, then by the workspace's.

A scenario of an untrusted workspace cannot choose a model, because code would go to a provider that the user did not
choose. If it overrides another scenario, it changes only texts, so a read-only scenario stays read-only.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec

from portico.domain import codecs
from portico.files.regular import read_beginning
from portico.porter.scenarios.scenario import InvalidScenario, Scenario, ScenarioCatalog
from portico.porter.scenarios.yaml_document import LARGEST, InvalidDocument, read_document
from portico.porter.scenarios.yaml_document import DocumentPath as Way

WORKSPACE_FOLDER = Path(".portico") / "scenarios"
_BUILT_IN = Path(__file__).parent
_MAX_FILES = 50
_PLACE = re.compile(r" - at `\$(?P<way>[^`]*)`$")
_STEP = re.compile(r"\.(?P<name>[^.\[\]]+)|\[(?P<number>\d+)\]|\[\.\.\.\]")


def load_scenarios(user: Path | None, workspace: Path, *, trusted: bool) -> ScenarioCatalog:
    """Load the scenarios of a workspace. Blocks: it reads files. `user` is the user's folder of scenarios."""
    found = dict(_built_in())
    problems: list[InvalidScenario] = []
    for folder, trust in ((user, True), (workspace / WORKSPACE_FOLDER, trusted)):
        for path in _files(folder):
            read = _read(path)
            if isinstance(read, InvalidScenario):
                problems.append(read)
            else:
                found[read.name] = read if trust else _texts_of(read, found.get(read.name))
    return ScenarioCatalog(found, tuple(problems))


def _texts_of(scenario: Scenario, known: Scenario | None) -> Scenario:
    """Return a scenario without its model; one that overrides another keeps only its texts."""
    if known is None:
        return msgspec.structs.replace(scenario, model=None)
    return msgspec.structs.replace(
        known, description=scenario.description, instructions=scenario.instructions
    )


def parse_scenario(data: bytes, path: str) -> Scenario | InvalidScenario:
    """Parse a scenario file, or return what is wrong with it and where."""
    try:
        document = read_document(data)
    except InvalidDocument as error:
        return InvalidScenario(path=path, line=error.line, why=error.why)
    try:
        return codecs.convert(document.value, Scenario)
    except msgspec.ValidationError as error:
        words = str(error)
        place = _PLACE.search(words)
        way = _way(place["way"]) if place else ()
        why = words if place is None else f"{'.'.join(map(str, way))}: {words[: place.start()]}"
        line = document.line_of(_unknown(words, way) or way)
        return InvalidScenario(path=path, line=line, why=why)


@cache
def _built_in() -> dict[str, Scenario]:
    found = {}
    for path in sorted(_BUILT_IN.glob("*.yaml"), key=lambda path: (path.stem != "code", path.stem)):
        scenario = parse_scenario(path.read_bytes(), path.name)
        assert isinstance(scenario, Scenario), scenario
        found[scenario.name] = scenario
    return found


def _files(folder: Path | None) -> Iterator[Path]:
    if folder is not None and folder.is_dir():
        yield from sorted(path for path in folder.glob("*.y*ml") if path.suffix in (".yaml", ".yml"))[
            :_MAX_FILES
        ]


def _read(path: Path) -> Scenario | InvalidScenario:
    try:
        data = read_beginning(path, limit=LARGEST + 1)
    except OSError as error:
        return InvalidScenario(path=str(path), line=1, why=f"The file cannot be read: {error.strerror}.")
    return parse_scenario(data, str(path))


def _way(text: str) -> Way:
    return tuple(
        int(step["number"]) if step["number"] else step["name"]
        for step in _STEP.finditer(text)
        if step["number"] or step["name"]
    )


def _unknown(words: str, way: Way) -> Way | None:
    """Return the path of an unknown field."""
    named = re.search(r"unknown field `([^`]+)`", words)
    return None if named is None else (*way, named[1])
