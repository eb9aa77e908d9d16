"""Selection of files, hunks and conflict sides of a proposal from command-line words."""

import argparse
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from portico.cli.arguments import require_utf8
from portico.domain.errors import InvalidInput
from portico.domain.events import ProposalUpdated
from portico.domain.reviews import ProposedFile
from portico.sessions.review_actions import ConflictSide, ProposalChoice, ProposalFileChoice

_NAMED = 8


def select_changes(proposal: ProposalUpdated, flags: argparse.Namespace, workspace: Path) -> ProposalChoice:
    """The selected part of a proposal. A folder selects every file below it; no path selects everything."""
    paths = _files(proposal, flags.paths, workspace)
    hunks = _hunks(proposal, flags.hunk, paths)
    sides = _sides(proposal, flags, workspace) if flags.action == "apply" else {}
    if not paths and not hunks and sides:
        if proposal.unlisted:
            raise InvalidInput(
                "The proposal has more files than are listed, so a side cannot be chosen for all of them at once.",
                suggestion="Apply the conflicting files by name first, then the rest.",
            )
        paths = [file.path for file in proposal.files if not file.denied]
    return ProposalChoice(
        proposal_id=proposal.proposal_id,
        revision=proposal.revision,
        files=tuple(
            ProposalFileChoice(path=path, hunk_ids=tuple(hunks.get(path, ())), resolve=sides.get(path))
            for path in dict.fromkeys((*paths, *hunks, *sides))
        ),
    )


def find_proposed_file(
    proposals: Iterable[ProposalUpdated], word: str, workspace: Path
) -> tuple[ProposalUpdated, str]:
    """The proposal that changes a file, the newest if several do, and the file's path in it."""
    found: list[ProposedFile] = []
    for proposal in reversed(list(proposals)):
        paths = _below(proposal.files, word, workspace)
        if len(paths) == 1:
            return proposal, paths[0]
        found += proposal.files
    raise _unknown(word, found)


def _files(proposal: ProposalUpdated, words: Sequence[str], workspace: Path) -> list[str]:
    paths: list[str] = []
    for word in words:
        found = _below(proposal.files, word, workspace)
        if not found and not proposal.unlisted:
            raise _unknown(word, proposal.files)
        paths += found or [_spellings(word, workspace)[-1]]
    return list(dict.fromkeys(paths))


def _below(files: Iterable[ProposedFile], word: str, workspace: Path) -> list[str]:
    """The file of this name, else all files below the folder of this name. Relative paths come first."""
    files = list(files)
    for name in _spellings(word, workspace):
        exact = [file.path for file in files if name in (file.path, file.old_path)]
        inside = [file.path for file in files if PurePosixPath(file.path).is_relative_to(name)]
        if found := exact[:1] or inside:
            return found
    return []


def _spellings(word: str, workspace: Path) -> list[str]:
    """A path relative to the current folder, if that is in the workspace, then relative to the workspace."""
    typed = Path(os.path.normpath(Path.cwd() / require_utf8(word, "The path")))
    here = [typed.relative_to(workspace).as_posix()] if typed.is_relative_to(workspace) else []
    return [*here, PurePosixPath(os.path.normpath(word)).as_posix()]


def _hunks(proposal: ProposalUpdated, names: Sequence[str], paths: Sequence[str]) -> Mapping[str, list[str]]:
    """The selected hunks (IDs or unique prefixes), by file."""
    chosen: dict[str, list[str]] = {}
    among = [file for file in proposal.files if not paths or file.path in paths]
    for name in names:
        found = [
            (file.path, hunk.hunk_id)
            for file in among
            for hunk in file.hunks
            if hunk.hunk_id.startswith(name)
        ]
        if len(found) != 1 or not name:
            raise InvalidInput(
                f"Several hunks begin with {name}." if found else f"The proposal has no hunk {name}.",
                suggestion="See their names with: portico review show --file PATH",
            )
        path, hunk_id = found[0]
        chosen.setdefault(path, []).append(hunk_id)
    return chosen


def _sides(proposal: ProposalUpdated, flags: argparse.Namespace, workspace: Path) -> dict[str, ConflictSide]:
    mine = dict.fromkeys(_files(proposal, flags.mine, workspace), "person")
    theirs = dict.fromkeys(_files(proposal, flags.theirs, workspace), "agent")
    if both := mine.keys() & theirs.keys():
        raise InvalidInput(
            f"{min(both)} is in both --mine and --theirs.", suggestion="Choose one side for each file."
        )
    sides: dict[str, ConflictSide] = {}
    for path in (*mine, *theirs):
        sides[path] = "person" if path in mine else "agent"
    return sides


def _unknown(word: str, files: Sequence[ProposedFile]) -> InvalidInput:
    names = [file.path for file in files]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return InvalidInput(
        f"Nothing is proposed for {word}.",
        suggestion=f"There are changes to: {', '.join(names[:_NAMED])}{more}." if names else None,
    )
