"""Catalog of the prompt files of a workspace and its user.

A file that cannot be used stands in the catalog with what is wrong with it, and still hides its namesake:
otherwise a mistake in one text would quietly send another.
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
_IMPROPER = "its name may have the letters a to z and A to Z, digits, - and _ only"

PromptOrigin = Literal["workspace", "user"]


class PromptFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file or folder among the prompts, before it is read. `fault` is what is wrong with the place itself.

    `root` is the real folder that its file must be in.
    """

    name: str
    origin: PromptOrigin
    path: Path
    root: Path
    fault: str = ""


class CatalogEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A place that was looked at. `hides` and `hidden_by` are the paths of namesakes."""

    name: str
    origin: PromptOrigin
    path: str
    prompt: CatalogPrompt | None
    problem: str = ""
    hides: str = ""
    hidden_by: str = ""


class PromptCatalog:
    """The prompts of a workspace and of its user. Blocks: it reads files, anew for each question."""

    def __init__(self, workspace: Path, user_folder: Path) -> None:
        self.workspace_folder = workspace / WORKSPACE_FOLDER
        self.user_folder = user_folder
        self._workspace = workspace

    def entries(self) -> list[CatalogEntry]:
        """All there are, by name, the one that holds before the one that it hides."""
        return [_entry(place, places) for _, places in sorted(self._by_name().items()) for place in places]

    def find(self, name: str) -> tuple[CatalogEntry, CatalogPrompt]:
        """The prompt that holds under a name. InvalidInput when there is none, or when it cannot be used."""
        by_name = self._by_name()
        if name not in by_name:
            raise self._unknown(name, sorted(by_name))
        entry = _entry(by_name[name][0], by_name[name])
        if entry.prompt is None:
            raise InvalidInput(
                f"The prompt {name} cannot be used: {entry.problem}.",
                suggestion=f"Put it right in {entry.path}",
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
            hint = "See them with: portico prompts list"
        else:
            hint = f"There are none yet. Write the first: {_proper(str(self.workspace_folder / 'NAME.md'))}"
        return InvalidInput(f"There is no prompt {name!r}.", suggestion=hint)


def _places(origin: PromptOrigin, folder: Path, ground: Path) -> Iterator[PromptFile]:
    """What is under a folder. Neither it nor a link below it may lead elsewhere; `ground` is what it must be in."""
    if not os.path.lexists(folder):
        return
    root = Path(os.path.realpath(folder))
    if not root.is_relative_to(os.path.realpath(ground)):
        yield _folder(origin, folder, folder, "the folder is a link that leads out of the workspace")
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
                fault = "it is a link to a folder, and those are not followed"
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
    """A folder that is not looked into. Its name is none that a prompt could have."""
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
        return None, "it is no file"
    except OSError as error:
        return None, f"it cannot be read: {error.strerror}"
    except InvalidPrompt as error:
        return None, error.why


def _resolved(place: PromptFile) -> str:
    path = os.path.realpath(place.path)
    if not Path(path).is_relative_to(place.root):
        raise InvalidPrompt("it is a link that leads out of its folder")
    return path


def _proper(text: str) -> str:
    """A name as text that can be written anywhere: on a disk it is bytes, and not all of them are text."""
    return os.fsencode(text).decode("utf-8", "replace")
