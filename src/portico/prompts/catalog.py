"""Catalog of the prompt files of a workspace and its user.

A broken file is listed with its problem, and still hides a prompt of the same name: otherwise a mistake in one file
would silently send another text.
"""

import os
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

import msgspec

from portico.domain.errors import InvalidInput
from portico.files import real_path
from portico.files.folders import open_folder
from portico.files.regular import FileTooLarge, NotRegularFile
from portico.prompts.errors import InvalidPrompt
from portico.prompts.prompt import MAX_PROMPT_BYTES, CatalogPrompt, read_prompt
from portico.prompts.template import VARIABLE_NAME

WORKSPACE_FOLDER = Path(".portico") / "prompts"
_SUFFIX = ".md"
_IMPROPER = "its name may only contain the letters a to z and A to Z, digits, - and _"

PromptOrigin = Literal["workspace", "user"]


class PromptFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file or folder among the prompts, before it is read. `fault` is a problem with the path itself.

    `root` is the real folder that must contain the file.
    """

    name: str
    origin: PromptOrigin
    path: Path
    root: Path
    fault: str = ""


class CatalogEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt file after it was read. `hides` and `hidden_by` are paths of prompts of the same name."""

    name: str
    origin: PromptOrigin
    path: str
    prompt: CatalogPrompt | None
    problem: str = ""
    hides: str = ""
    hidden_by: str = ""


class PromptCatalog:
    """The prompts of a workspace and its user. Each call reads the files again, and blocks."""

    def __init__(self, workspace: Path, user_folder: Path) -> None:
        self.workspace_folder = workspace / WORKSPACE_FOLDER
        self.user_folder = user_folder
        self._workspace = workspace

    def entries(self) -> list[CatalogEntry]:
        """Return all prompts by name; a prompt comes before the one it hides."""
        return [_entry(place, places) for _, places in sorted(self._by_name().items()) for place in places]

    def find(self, name: str) -> tuple[CatalogEntry, CatalogPrompt]:
        """Return the prompt with a name. Raises InvalidInput if it is unknown or broken."""
        by_name = self._by_name()
        if name not in by_name:
            raise self._unknown(name, sorted(by_name))
        entry = _entry(by_name[name][0], by_name[name])
        if entry.prompt is None:
            raise InvalidInput(
                f"The prompt {name} cannot be used: {entry.problem}.",
                suggestion=f"Correct it in {entry.path}",
            )
        return entry, entry.prompt

    def _by_name(self) -> dict[str, list[PromptFile]]:
        found: dict[str, list[PromptFile]] = {}
        for place in (
            *_places("workspace", self.workspace_folder, self._workspace),
            *_places("user", self.user_folder, self.user_folder),
        ):
            found.setdefault(place.name, []).append(place)
        return found

    def _unknown(self, name: str, names: list[str]) -> InvalidInput:
        near = get_close_matches(name, names, n=3)
        if near:
            hint = f"Did you mean {' or '.join(near)}?"
        elif names:
            hint = "List them with: portico prompts list"
        else:
            hint = f"No prompts exist yet. Create one: {_proper(str(self.workspace_folder / 'NAME.md'))}"
        return InvalidInput(f'Unknown prompt "{name}".', suggestion=hint)


def _places(origin: PromptOrigin, folder: Path, boundary: Path) -> Iterator[PromptFile]:
    """List the files of a folder. Neither the folder nor a link in it may lead out of `boundary`."""
    if not os.path.lexists(folder):
        return
    root = Path(os.path.realpath(folder))
    if not root.is_relative_to(os.path.realpath(boundary)):
        yield _folder(origin, folder, folder, "the folder is a link to a folder outside the workspace")
        return
    waiting = [Path()]
    while waiting:
        here = waiting.pop()
        try:
            with open_folder(root / here) as opened, opened.scan() as found:
                inside = sorted(
                    (one.name, one.is_dir(follow_symlinks=False), one.is_symlink()) for one in found
                )
        except OSError as error:
            yield _folder(origin, folder, folder / here, f"the folder cannot be read: {error.strerror}")
            continue
        for name, is_folder, is_link in inside:
            path = here / name
            if name.startswith("."):
                continue
            if is_folder:
                waiting.append(path)
            elif is_link and os.path.isdir(root / path):  # noqa: PTH112 - pathlib's fails where it may not look
                fault = "it is a link to a folder, which is not followed"
                yield _folder(origin, folder, folder / path, fault)
            elif path.suffix == _SUFFIX:
                bare = path.with_suffix("")
                is_proper = all(VARIABLE_NAME.fullmatch(part) for part in bare.parts)
                yield PromptFile(
                    name=_proper(bare.as_posix()),
                    origin=origin,
                    path=folder / path,
                    root=root,
                    fault="" if is_proper else _IMPROPER,
                )


def _folder(origin: PromptOrigin, top: Path, path: Path, fault: str) -> PromptFile:
    """Return an entry for a folder that is not searched, under a name that no prompt can have."""
    name = "" if path == top else path.relative_to(top).as_posix()
    return PromptFile(name=_proper(f"{name}/"), origin=origin, path=path, root=top, fault=fault)


def _entry(place: PromptFile, namesakes: list[PromptFile]) -> CatalogEntry:
    first = namesakes[0]
    prompt, problem = _read(place)
    return CatalogEntry(
        name=place.name,
        origin=place.origin,
        path=_proper(str(place.path)),
        prompt=prompt,
        problem=problem,
        hides=_proper(str(namesakes[1].path)) if place is first and len(namesakes) > 1 else "",
        hidden_by="" if place is first else _proper(str(first.path)),
    )


def _read(place: PromptFile) -> tuple[CatalogPrompt | None, str]:
    if place.fault:
        return None, place.fault
    try:
        return read_prompt(
            real_path.retry_on_link(lambda: real_path.read(_resolved(place), limit=MAX_PROMPT_BYTES))
        ), ""
    except FileTooLarge:
        return None, f"the file is larger than {MAX_PROMPT_BYTES // 1024} KB"
    except (FileNotFoundError, IsADirectoryError, NotRegularFile):
        return None, "it is not a regular file"
    except OSError as error:
        return None, f"it cannot be read: {error.strerror}"
    except InvalidPrompt as error:
        return None, error.why


def _resolved(place: PromptFile) -> str:
    path = os.path.realpath(place.path)
    if not Path(path).is_relative_to(place.root):
        raise InvalidPrompt("it is a link to a file outside its folder")
    return path


def _proper(text: str) -> str:
    """Return a file name as valid text: on disk it may be any bytes."""
    return os.fsencode(text).decode("utf-8", "replace")
