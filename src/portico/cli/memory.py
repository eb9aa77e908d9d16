"""`portico memory`: show the notes that agents keep, and undo changes to your own."""

import argparse
import difflib
import os
from collections.abc import Sequence

from portico.cli.arguments import CommandGroup, print_json, require_folder
from portico.components.memory.notes import FILE, Notes, read_notes
from portico.components.memory.user_notes import UserNotes
from portico.config.paths import config_folder
from portico.doors.terminal.sanitizer import clean, clean_line

_DESCRIPTION = "Notes that agents keep for later sessions, for this folder and for all your folders."


def run(arguments: Sequence[str]) -> int:
    group = CommandGroup("memory", _DESCRIPTION)
    show = group.add("show", "print the notes of this folder and your own", _show)
    show.add_argument("--cwd", metavar="DIR", default=".", help="folder to work in (default: this one)")
    group.add("undo", "undo the last change to your own notes, and show it", _undo)
    return group.run(arguments)


def user_notes() -> UserNotes:
    return UserNotes(config_folder(os.environ) / "memory")


def _show(flags: argparse.Namespace) -> int:
    folder, mine = require_folder(flags.cwd), user_notes()
    found = {str(folder / FILE): read_notes(str(folder)), str(mine.path): mine.read()}
    if flags.api:
        print_json(files=[{"path": path, "notes": notes.notes} for path, notes in found.items()])
        return 0
    for path, notes in found.items():
        print(f"{clean_line(path)}{'' if notes.notes else ': no notes'}")
        _print(notes)
    return 0


def _print(notes: Notes) -> None:
    for note in notes.notes:
        print(f"\n## {clean_line(note.topic)}\n\n{clean(note.text)}")
    if notes.notes:
        print()


def _undo(flags: argparse.Namespace) -> int:
    mine = user_notes()
    before, after = mine.undo()
    if flags.api:
        print_json(path=str(mine.path))
        return 0
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "before", "now", lineterm="")
    print("\n".join(clean(line) for line in lines))
    return 0
