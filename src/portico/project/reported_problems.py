"""Problems that the project's own tools reported last, of files that have not changed since."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from portico.domain.windows import CodeProblem
    from portico.project.problems import ProjectProblem

_MOST_RUNS = 20
_Stamp = tuple[int, int]


class ReportedProblems:
    """Shared by the components of a process. Its methods look at files, so they block."""

    def __init__(self) -> None:
        self._runs: dict[tuple[Path, str], list[tuple[str, _Stamp, ProjectProblem]]] = {}

    def report(self, root: Path, tool: str, problems: Iterable["ProjectProblem"], *, started: float) -> None:
        """Take what a tool found, in the place of what it found before. `started` is the time of the run's start."""
        found = []
        for problem in problems:
            path = os.path.normpath(root / problem.path)
            stamp = _stamp(path)
            # A file that was changed in the meantime may have another text than the tool saw.
            if stamp is not None and stamp[0] <= started * 1e9:
                found.append((path, stamp, problem))
        self._runs.pop((root, tool), None)
        self._runs[root, tool] = found
        while len(self._runs) > _MOST_RUNS:
            del self._runs[next(iter(self._runs))]

    def current(self, folder: Path, path: str = "") -> Iterator["CodeProblem"]:
        """The problems of the files in a folder, or of one file, that are as the tools have seen them."""
        from portico.domain.windows import CodeProblem

        for (_, tool), found in list(self._runs.items()):
            for place, stamp, problem in found:
                wanted = place == path if path else Path(place).is_relative_to(folder)
                if not wanted or _stamp(place) != stamp:
                    continue
                code = f" ({problem.code})" if problem.code else ""
                yield CodeProblem(
                    path=place,
                    line=problem.line - 1,
                    column=(problem.column or 1) - 1,
                    severity=problem.severity,
                    message=problem.message + code,
                    source=tool,
                )


def _stamp(path: str) -> _Stamp | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - it is called for many files
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
