"""Skills for the tests: written into folders of the user, of a workspace and of packages, as their authors would."""

from pathlib import Path

SITE = Path(".venv/lib/python3.12/site-packages")


def write_skill(
    folder: Path, name: str, *, description: str = "Knows things.", body: str = "Do it well."
) -> Path:
    """A skill in a folder of skills."""
    skill = folder / name
    skill.mkdir(parents=True, exist_ok=True)
    (skill / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {description}\n---\n\n{body}\n")
    return skill


def install_python(
    workspace: Path, package: str, version: str, name: str, *, module: str | None = None
) -> Path:
    """A package of PyPI with a skill, as pip leaves it."""
    module = module or package.replace("-", "_")
    site = workspace / SITE
    skill = write_skill(site / module / ".agents" / "skills", name)
    info = site / f"{package.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "RECORD").write_text(f"{module}/.agents/skills/{name}/SKILL.md,,\n")
    return skill


def install_node(workspace: Path, package: str, version: str, name: str, *, place: str = "skills") -> Path:
    """A package of npm with a skill."""
    folder = workspace / "node_modules" / package
    folder.mkdir(parents=True)
    (folder / "package.json").write_text(f'{{"name": "{package}", "version": "{version}"}}')
    return write_skill(folder / place, name)
