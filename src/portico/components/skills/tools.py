"""The tools by which an agent reads skills: their list, their instructions, and the files beside them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Annotated

import msgspec
from msgspec import Meta

from portico.components.skills.catalog import CatalogSkill, SkillCatalog, harmless
from portico.components.skills.skill import InvalidSkill, Skill, list_resources, read_resource, read_skill
from portico.components.text_page import page_of
from portico.components.tool_failure import tool_failure
from portico.domain.errors import PorticoError
from portico.files.deadline import within_deadline
from portico.mcp.tools import Tool, ToolCall, ToolFailure, schema_of

_MOST_RESOURCES = 50
_LIST = "Lists the skills of this workspace with their descriptions and sources."
_READ = """Reads the instructions of a skill. Read a skill before you do a task that its description fits. Scripts \
beside it are files like any other: they run only as commands of your own, with the person's permission."""
_RESOURCE = "Reads a file beside the instructions of a skill, as its text refers to it."

_Name = Annotated[
    str, Meta(description="The name or id of the skill, as listed.", min_length=1, max_length=500)
]
_Offset = Annotated[int, Meta(description="Where to go on, as the page before says; counts from 1.", ge=1)]


class SkillListQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    offset: _Offset = 1


class SkillQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: _Name
    offset: _Offset = 1


class SkillResourceQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: _Name
    path: Annotated[
        str, Meta(description="The file, relative to the folder of the skill.", min_length=1, max_length=1000)
    ]
    offset: _Offset = 1


Permit = Callable[[CatalogSkill, Skill], Awaitable[None]]
"""Asks the person about a skill that is not allowed as it is. ToolFailure if they do not agree."""


class SkillTools:
    """The tools of one session. What was allowed is judged by the folder as it is when it is read."""

    def __init__(
        self, catalog: SkillCatalog, allowed: Callable[[], Mapping[str, str]], permit: Permit
    ) -> None:
        self._catalog = catalog
        self._allowed = allowed
        self._permit = permit
        self._permitted: dict[str, str] = {}

    def tools(self) -> Sequence[Tool]:
        return (
            _tool("skill_list", "List skills", _LIST, SkillListQuery, self._list),
            _tool("skill_read", "Read skill", _READ, SkillQuery, self._read),
            _tool("skill_resource", "Read file of a skill", _RESOURCE, SkillResourceQuery, self._resource),
        )

    async def _list(self, call: ToolCall) -> str:
        lines = [_described(name, entry) for name, entry in self._catalog.named().items()]
        lines += [
            f"{entry.id} ({entry.source}): {entry.state}, so that reading it asks the person"
            for entry in self._catalog.closed()
        ]
        return page_of(lines, call.read(SkillListQuery).offset, unit="skill")

    async def _read(self, call: ToolCall) -> str:
        asked = call.read(SkillQuery)
        skill = await self._skill(asked.name)
        resources = await within_deadline(lambda: list_resources(skill.folder))
        return page_of(describe_skill(skill, resources).split("\n"), asked.offset)

    async def _resource(self, call: ToolCall) -> str:
        asked = call.read(SkillResourceQuery)
        skill = await self._skill(asked.name)
        data = await within_deadline(lambda: read_resource(skill, asked.path))
        if b"\0" in data[:8192]:
            return f"{asked.path} is a binary file of {len(data):,} bytes: {skill.folder / asked.path}"
        return page_of(data.decode(errors="replace").split("\n"), asked.offset)

    async def _skill(self, name: str) -> Skill:
        """The skill as it is now, if the person lets it be used. Others' may have changed since the session began."""
        entry = self._catalog.find(name)
        if entry.skill is None:
            raise InvalidSkill(f"the skill {entry.id} cannot be used: {entry.problem}")
        skill = await within_deadline(lambda: read_skill(entry.folder, entry.source))
        if skill.id != entry.id:
            raise InvalidSkill(f"the skill {entry.id} has changed its name to {skill.name}")
        if entry.source.is_package and skill.fingerprint != self._permitted.get(skill.id):
            allowed = await within_deadline(self._allowed)
            if allowed.get(skill.id) != skill.fingerprint:
                await self._permit(entry, skill)
            self._permitted[skill.id] = skill.fingerprint
        return skill


def describe_skill(skill: Skill, resources: Sequence[str]) -> str:
    """The instructions of a skill, with its source and the files beside it."""
    opening = f'<skill name="{skill.name}" source="{skill.source}" folder="{harmless(str(skill.folder))}">'
    shown = ", ".join(map(harmless, resources[:_MOST_RESOURCES]))
    more = f" and {len(resources) - _MOST_RESOURCES} more" if len(resources) > _MOST_RESOURCES else ""
    files = [f"Files beside it, read with skill_resource: {shown}{more}"] if resources else []
    return "\n".join((opening, harmless(skill.text), "</skill>", *files))


def _described(name: str, entry: CatalogSkill) -> str:
    description = "" if entry.skill is None else harmless(entry.skill.description)
    return f"{name} ({entry.source}): {description}"


_Query = type[msgspec.Struct]


def _tool(name: str, title: str, text: str, query: _Query, run: Callable[[ToolCall], Awaitable[str]]) -> Tool:
    return Tool(name, text, schema_of(query), partial(_run, run), title=title, read_only=True)


async def _run(run: Callable[[ToolCall], Awaitable[str]], call: ToolCall) -> str:
    try:
        return await run(call)
    except PorticoError as error:
        raise tool_failure(error) from error
    except InvalidSkill as error:
        words = str(error)
        raise ToolFailure(f"{words[:1].upper()}{words[1:]}.") from error
    except OSError as error:
        raise ToolFailure(f"The skill cannot be read: {error.strerror}.") from error
