"""The system prompt: who Porter is, the scenario, the workspace, and the project's AGENTS.md."""

import sys
from datetime import date
from pathlib import Path

from portico.domain.errors import PermissionDenied
from portico.files import real_path
from portico.porter.profiles.profile import ModelProfile
from portico.porter.scenarios.scenario import Scenario
from portico.porter.workspace import Workspace

FILES = ("AGENTS.md", "CLAUDE.md", ".portico/instructions.md")


def system_text(scenario: Scenario, workspace: Workspace, profile: ModelProfile) -> str:
    """Return the system prompt. Blocks: it reads files."""
    texts = profile.texts
    parts = [
        texts.introduction,
        _section(f"How you work now: {scenario.name}", texts.instructions(scenario)),
        _section("Rules", texts.rules),
        _surroundings(workspace) if texts.surroundings else "",
        *_from_files(workspace, texts.project),
    ]
    return "\n\n".join(filter(None, parts))


def _section(heading: str, text: str) -> str:
    return f"# {heading}\n{text}" if text else ""


def _surroundings(workspace: Workspace) -> str:
    lines = [f"Workspace: {workspace.root}", f"System: {sys.platform}", f"Today: {date.today().isoformat()}"]  # noqa: DTZ011 - the user's local date
    if workspace.others:
        lines.append("Further folders: " + ", ".join(map(str, workspace.others)))
    return "# Where you are\n" + "\n".join(lines)


def _from_files(workspace: Workspace, longest: int) -> list[str]:
    """Read the project's instructions for agents, each text once: the files are often copies of each other."""
    found: dict[str, str] = {}
    for name in FILES:
        text = _text(workspace, workspace.root / name, longest)
        if text and text not in found:
            found[text] = name
    if not found:
        return []
    heading = (
        "# What the project says\nFrom files of the workspace: conventions to follow where they do not contradict "
        "the rules above."
    )
    return [heading, *(f"## {name}\n{text}" for text, name in found.items())]


def _text(workspace: Workspace, path: Path, longest: int) -> str:
    if not longest:
        return ""
    try:
        data = real_path.read_beginning(workspace.inside(path), limit=4 * (longest + 1))
    except (OSError, PermissionDenied):
        return ""
    text = data.decode("utf-8", errors="replace").replace("\r\n", "\n")
    if len(text) > longest:
        text = f"{text[:longest]}\n[Cut off: the file is longer than {longest} characters.]"
    return text.strip()
