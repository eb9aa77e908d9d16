"""Catalog of skills: a workspace with 500 installed packages, as a session looks for skills when it begins.

One package in ten has a skill, which is more than today. That all have one is measured to see how it grows.
"""

import os
import tempfile
import time
from pathlib import Path

from bench.report import Budget, Line, MeasurementFailed, Section
from bench.samples import Samples
from portico.components.skills.catalog import describe_catalog, load_catalog, open_grants

ROUNDS = 15
PACKAGES = 500
_BUDGET = Budget("at most", 0.15)
_BODY = "Take care, and think of the others. " * 100


def measure() -> Section:
    lines = []
    for skilled in (50, PACKAGES):
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder)
            environ = {**os.environ, "HOME": str(home / "home"), "PORTICO_HOME": str(home / "portico")}
            workspace = home / "workspace"
            _install(workspace, skilled)
            found = load_catalog(workspace, environ)
            if len(found.entries) != skilled:
                raise MeasurementFailed(f"{len(found.entries)} of {skilled} skills were found")
            open_grants(environ).allow((one.id, one.skill.fingerprint) for one in found.entries if one.skill)
            what = f"{PACKAGES} packages, {skilled} of them with a skill of 3 files"
            budget = _BUDGET if skilled < PACKAGES else None
            lines.append(Line(what=what, samples=_time(workspace, environ), unit="seconds", budget=budget))
    return Section(title="Catalog of the skills of a workspace, warm", lines=tuple(lines))


def _time(workspace: Path, environ: dict[str, str]) -> Samples:
    taken = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        if describe_catalog(load_catalog(workspace, environ)) is None:
            raise MeasurementFailed("the catalog is empty")
        taken.append(time.perf_counter() - started)
    return Samples(tuple(taken))


def _install(workspace: Path, skilled: int) -> None:
    """Half of the packages for Python, half for Node."""
    site, modules = workspace / ".venv/lib/python3.12/site-packages", workspace / "node_modules"
    for number in range(PACKAGES):
        name, of_python = f"package{number:03}", number % 2 == 0
        folder = (site if of_python else modules) / name
        folder.mkdir(parents=True)
        (folder / "index.js").write_text("")
        if of_python:
            info = site / f"{name}-1.0.{number}.dist-info"
            info.mkdir()
            records = "".join(f"{name}/module{one}.py,sha256=0,100\n" for one in range(200))
            (info / "RECORD").write_text(f"{records}{name}/.agents/skills/{name}/SKILL.md,,\n")
        else:
            (folder / "package.json").write_text(f'{{"name": "{name}", "version": "1.0.{number}"}}')
        if number < skilled:
            _write_skill(folder / (".agents/skills" if of_python else "skills") / name, name)


def _write_skill(folder: Path, name: str) -> None:
    (folder / "references").mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Knows {name}.\n---\n\n{_BODY}\n")
    for number in range(2):
        (folder / "references" / f"{number}.md").write_text(_BODY)
