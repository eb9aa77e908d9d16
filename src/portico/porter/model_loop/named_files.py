"""The files that a prompt names, read before a small model is asked: it would look for them in vain, or not at all."""

import asyncio
import re

import msgspec

from portico.domain.errors import PorticoError
from portico.porter.models.model import ModelText
from portico.porter.tool_call import ToolError
from portico.porter.tools import read
from portico.porter.tools.context import ToolContext
from portico.porter.workspace import exists

_SEARCHED = 4000
_PATH = re.compile(r"(?<![\w/.:-])[\w][\w./-]{0,200}\.[A-Za-z]\w{0,9}\b")


async def read_named_files(context: ToolContext, text: str) -> tuple[ModelText, ...]:
    """Return the beginning of each file that a text names, at most as many as the profile says."""
    found: list[ModelText] = []
    for name in dict.fromkeys(_PATH.findall(text[:_SEARCHED])):
        if len(found) == context.profile.limits.named_files:
            break
        try:
            path = context.resolve(name)
            if not await asyncio.to_thread(exists, path):
                continue
            outcome = await read.TOOL.call(context, msgspec.json.encode({"path": name}).decode())
        except (ToolError, PorticoError):
            continue
        shown = "".join(part.text for part in outcome.parts if isinstance(part, ModelText))
        found.append(ModelText(f"\n\n[{name}, with line numbers:]\n{shown}"))
    return tuple(found)
