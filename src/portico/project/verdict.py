"""The first words of a report on a check, build or test run, for those who write one and those who read it."""

from portico.project.build_commands import ProjectTask

_NOUNS: dict[ProjectTask, str] = {"check": "Check", "build": "Build", "test": "Tests"}


def verdict(task: ProjectTask, *, succeeded: bool) -> str:
    return f"{_NOUNS[task]} {'passed' if succeeded else 'failed'}"


def read_verdict(report: str) -> bool | None:
    """Return whether the run of a report succeeded; None if the text is not a report."""
    for task in _NOUNS:
        for succeeded in (True, False):
            if report.startswith(verdict(task, succeeded=succeeded)):
                return succeeded
    return None
