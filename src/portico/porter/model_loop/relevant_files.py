"""Files that a prompt is about, read before a small model is asked, because such models rarely find them."""

import asyncio
import re
from collections import Counter
from pathlib import Path

import msgspec

from portico.domain.errors import PorticoError
from portico.domain.secret_files import is_private
from portico.files import real_path
from portico.porter.models.model import ModelText
from portico.porter.search.file_list import collect_files
from portico.porter.search.text_search import TextQuery, search
from portico.porter.tool_call import ToolError
from portico.porter.tools import read
from portico.porter.tools.context import ToolContext
from portico.porter.workspace import exists

_SEARCHED = 4000
_PATH = re.compile(r"(?<![\w/.:-])[\w][\w./-]{0,200}\.[A-Za-z]\w{0,9}\b")
_NAME = re.compile(
    r"`([A-Za-z_]\w+)`|\b([A-Za-z]\w*_\w+|[a-z]+[A-Z]\w*|[A-Z]\w*[a-z][A-Z]\w*|[A-Za-z]\w+(?=\(|\.\w+\())"
    r"|(?<=\w )([A-Z][a-z]\w+)"
)
"""Text that looks like a name in code: in backticks, with an underscore or capitals inside, before a bracket, or a
capitalised word in the middle of a sentence."""
_MOST_NAMES = 12
_MOST_MATCHES = 500
_BEGINNING = 1024


async def read_relevant_files(context: ToolContext, text: str) -> dict[str, ModelText]:
    """Return the files that a text names, and others it seems to be about as far as the profile has room for them.

    A project that fits as a whole is read as a whole.
    """
    limits = context.profile.limits
    named = await _named(context, text[:_SEARCHED]) if limits.named_files else []
    found: dict[str, ModelText] = {}
    for name in named[: limits.named_files]:
        if part := await _content(context, name):
            found[name] = part
    room = limits.found_characters - sum(len(part.text) for part in found.values())
    for name, size in await _others(context, text[:_SEARCHED], room) if room > 0 else ():
        if name not in named and size <= room and (part := await _content(context, name)):
            found[name] = part
            room -= len(part.text)
    return found


async def _named(context: ToolContext, text: str) -> list[str]:
    found = []
    for name in dict.fromkeys(_PATH.findall(text)):
        try:
            if await asyncio.to_thread(exists, context.resolve(name)):
                found.append(name)
        except (ToolError, PorticoError):
            continue
    return found


async def _others(context: ToolContext, text: str, room: int) -> list[tuple[str, int]]:
    """Return files with their sizes: all of a small project, else those in which names of the text occur."""
    files = await collect_files(context.workspace.root, context.environ)
    sizes = await asyncio.to_thread(_text_sizes, files)
    if sum(sizes.values()) > room:
        names = [next(filter(None, groups)) for groups in _NAME.findall(text)]
        counts = await _occurrences(context, list(dict.fromkeys(names))[:_MOST_NAMES])
        sizes = {path: sizes[path] for path, _ in counts.most_common() if path in sizes}
    return [(context.workspace.shown(path), size) for path, size in sizes.items()]


async def _occurrences(context: ToolContext, names: list[str]) -> Counter[Path]:
    """Count how many of the names occur in each file."""
    found: Counter[Path] = Counter()
    for name in names:
        query = TextQuery(text=name, whole_word=True)
        try:
            matches = await search(
                query, context.workspace, context.workspace.root, _MOST_MATCHES, context.environ
            )
        except PorticoError:
            continue
        found.update(matches.by_file().keys())
    return found


def _text_sizes(files: list[Path]) -> dict[Path, int]:
    """Return the sizes of files with text. Blocks."""
    sizes = {}
    for path in files:
        if path.name.startswith(".") or is_private(path.parts):
            continue
        try:
            beginning, size = real_path.read_beginning(path, limit=_BEGINNING), path.stat().st_size
        except OSError:
            continue
        if size and b"\0" not in beginning:
            sizes[path] = size
    return sizes


async def _content(context: ToolContext, name: str) -> ModelText | None:
    try:
        outcome = await read.TOOL.call(context, msgspec.json.encode({"path": name}).decode())
    except (ToolError, PorticoError):
        return None
    shown = "".join(part.text for part in outcome.parts if isinstance(part, ModelText))
    return ModelText(f"[{name}:]\n{shown}\n\n")
