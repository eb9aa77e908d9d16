"""The skills of a folder as a server lists them, and a person's decisions on them. Blocks."""

from collections.abc import Mapping
from pathlib import Path

from portico.components.skills.catalog import CatalogSkill, load_catalog, open_grants
from portico.domain.catalog import SkillEntry
from portico.domain.errors import InvalidInput


def list_skills(workspace: Path, environ: Mapping[str, str]) -> list[SkillEntry]:
    """All skills of the user, of a folder and of its packages, usable or not."""
    return [_entry(one) for one in load_catalog(workspace, environ).entries]


def allow_skill(workspace: Path, environ: Mapping[str, str], skill_id: str, fingerprint: str) -> None:
    """Allow a skill as the person has seen it. InvalidInput if it has changed since, or cannot be used."""
    found = _find(workspace, environ, skill_id)
    if found.skill is None:
        raise InvalidInput(f"The skill {found.id} cannot be used: {found.problem}.")
    if found.skill.fingerprint != fingerprint:
        raise InvalidInput(
            f"The skill {found.id} has changed since it was listed.", suggestion="List the skills again."
        )
    open_grants(environ).allow([(found.id, fingerprint)])


def deny_skill(workspace: Path, environ: Mapping[str, str], skill_id: str) -> None:
    """Keep agents from using a skill."""
    open_grants(environ).deny([_find(workspace, environ, skill_id).id])


def _find(workspace: Path, environ: Mapping[str, str], skill_id: str) -> CatalogSkill:
    for one in load_catalog(workspace, environ).entries:
        if one.id == skill_id:
            return one
    raise InvalidInput(f'Unknown skill "{skill_id}".', suggestion="List the skills again.")


def _entry(one: CatalogSkill) -> SkillEntry:
    return SkillEntry(
        skill_id=one.id,
        name=one.name,
        source=str(one.source),
        state=one.state.name.lower(),
        description="" if one.skill is None else one.skill.description,
        fingerprint="" if one.skill is None else one.skill.fingerprint,
        problem=one.problem,
    )
