"""The profile of a model class: tools, texts, limits and guards. The values are in the YAML files of this folder."""

from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from portico.domain import codecs
from portico.porter.models.model import ModelFacts
from portico.porter.scenarios.scenario import Scenario
from portico.porter.scenarios.yaml_document import read_document

ProfileName = Literal["tiny", "small", "large"]
_FOLDER = Path(__file__).parent
_ANY = "*"


class ProfileTexts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Parts of the system prompt; an empty one is left out.

    `scenarios` replaces the instructions of scenarios, by name or `*`; other scenarios keep their own. `project` is
    how many characters of each instruction file of the project a model is told. `draft` is the whole system prompt of
    a request for a change, if the model is to answer it with files instead of calls.
    """

    introduction: str
    draft: str = ""
    scenarios: dict[str, str] = {}
    rules: str = ""
    surroundings: bool = True
    project: Annotated[int, Meta(ge=0)] = 32_000

    def instructions(self, scenario: Scenario) -> str:
        own = self.scenarios.get(_ANY, scenario.instructions)
        return self.scenarios.get(scenario.name, own).strip()


class ProfileLimits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Upper limits. `calls` is per response, `steps` are model calls in a turn; None for no limit.

    Before the model is asked, as many as `named_files` of the files that a prompt names are read, and others that it
    is about while all of them have at most `found_characters`.
    """

    calls: Annotated[int, Meta(ge=1)] | None = None
    steps: Annotated[int, Meta(ge=1)] | None = None
    output_tokens: Annotated[int, Meta(ge=16)] | None = None
    plan_steps: Annotated[int, Meta(ge=1)] = 100
    read_lines: Annotated[int, Meta(ge=1)] = 2000
    named_files: Annotated[int, Meta(ge=0)] = 0
    found_characters: Annotated[int, Meta(ge=0)] = 0


class ProfileGuards(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits at which a drifting model is stopped or reminded.

    `repetitions` of a call with the same result are made, and a turn ends after `refusals` of more. `failures` in a
    row end a turn. `reminders` is how often a model is asked to make a change that it only described.
    """

    repetitions: Annotated[int, Meta(ge=1)] = 2
    refusals: Annotated[int, Meta(ge=1)] = 3
    failures: Annotated[int, Meta(ge=1)] | None = None
    reminders: Annotated[int, Meta(ge=0)] = 0


class ProfileChecks(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The automatic check after a change, by the first of `tools` that can tell, and how often it is repaired.

    With `first`, it runs before the model is asked if the prompt speaks of a failure. The turn then ends with the
    change after which it passes.
    """

    tools: tuple[str, ...] = ()
    repairs: Annotated[int, Meta(ge=0)] = 0
    first: bool = False


class ModelProfile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Profile of the loop for a class of models.

    `tools` are names or patterns of the tools that are offered. `variants` selects another form of a tool, and
    `descriptions` a shorter description; `parameters` names those parameters of a tool that are shown. With
    `written_calls`, calls that a model writes as text are read.
    With `commands`, slash commands answer free text that they answer exactly.
    `outline` is the tool that lists the definitions of a file that is too long to read. Without `line_numbers`, files
    are shown as they are.
    """

    name: ProfileName
    tools: tuple[str, ...]
    texts: ProfileTexts
    variants: dict[str, str] = {}
    descriptions: dict[str, str] = {}
    parameters: dict[str, tuple[str, ...]] = {}
    written_calls: bool = False
    commands: bool = False
    outline: str | None = None
    line_numbers: bool = True
    limits: ProfileLimits = ProfileLimits()
    guards: ProfileGuards = ProfileGuards()
    checks: ProfileChecks = ProfileChecks()

    def offers(self, tool: str) -> bool:
        return any(fnmatchcase(tool, pattern) for pattern in self.tools)


def profile_of(facts: ModelFacts) -> ModelProfile:
    """Return the profile for a model. Blocks the first time: it reads a file."""
    return load_profile("tiny" if facts.tiny else "small" if facts.small else "large")


@cache
def load_profile(name: ProfileName) -> ModelProfile:
    return codecs.convert(read_document((_FOLDER / f"{name}.yaml").read_bytes()).value, ModelProfile)
