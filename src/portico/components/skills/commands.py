"""Skills as slash commands: added to those of the agent, and put into the prompt when one is used."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec import Raw

from portico.acp import _schema as acp
from portico.components.skills.catalog import CatalogSkill
from portico.components.skills.tools import describe_skill
from portico.components.text_page import page_of
from portico.conductor.prompt_message import PromptMessage
from portico.domain import codecs
from portico.rpc.messages import Message, notification

UPDATE = "session/update"
COMMANDS_UPDATE = "available_commands_update"
_MOST = 100
_LONGEST = 200


class _Named(msgspec.Struct, frozen=True):
    name: str


class _Commands(msgspec.Struct, frozen=True, rename="camel"):
    session_update: str
    available_commands: list[Raw] = []


class _Update(msgspec.Struct, frozen=True, rename="camel"):
    session_id: str
    update: _Commands


class AgentCommands(msgspec.Struct, frozen=True):
    """The commands that an agent announces for a session."""

    session_id: str
    entries: Sequence[Raw]
    names: frozenset[str]

    @classmethod
    def read(cls, message: Message) -> "AgentCommands | None":
        """None for an update about anything else."""
        try:
            asked = codecs.decode_json(message.params, _Update)
            if asked.update.session_update != COMMANDS_UPDATE:
                return None
            entries = asked.update.available_commands
            names = frozenset(codecs.decode_json(entry, _Named).name for entry in entries)
        except msgspec.DecodeError:
            return None
        return cls(asked.session_id, entries, names)


def skill_commands(skills: Mapping[str, CatalogSkill], taken: Iterable[str]) -> dict[str, CatalogSkill]:
    """The skills that can be commands: those with a plain name that is not a command of the agent."""
    names = set(taken)
    found = [(name, entry) for name, entry in skills.items() if name == entry.name and name not in names]
    return dict(found[:_MOST])


def announcement(commands: AgentCommands, skills: Mapping[str, CatalogSkill]) -> Message:
    """The commands of the agent, and after them the skills."""
    added = [
        acp.AvailableCommand(
            name=name,
            description=_short(f"{entry.skill.description if entry.skill else ''} (skill, {entry.source})"),
            input=acp.UnstructuredCommandInput(hint="what to do with the skill"),
        )
        for name, entry in skill_commands(skills, commands.names).items()
    ]
    update = {"sessionUpdate": COMMANDS_UPDATE, "availableCommands": [*commands.entries, *added]}
    return notification(UPDATE, {"sessionId": commands.session_id, "update": update})


def expand_command(prompt: PromptMessage, skills: Mapping[str, CatalogSkill]) -> Message | None:
    """The prompt with the instructions of the skill that it names; None if it names none."""
    if prompt.command is None:
        return None
    name, _, rest = prompt.command[1:].partition(" ")
    entry = skills.get(name.strip())
    if entry is None or entry.skill is None:
        return None
    text = page_of(describe_skill(entry.skill, ()).split("\n"))
    words = rest.strip() or f"Follow the skill {entry.name}."
    return prompt.with_command_replaced(f"The person asks you to use this skill.\n{text}", words)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1].rstrip()}…"
