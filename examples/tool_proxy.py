"""A proxy that gives any agent a tool: an MCP server without a port, in the chain.

In Portico's settings: {"proxies": {"glossary": {"command": "python3", "args": ["/path/to/tool_proxy.py"]}}}
"""

import msgspec

from portico.proxy import McpProxy, Tool, ToolCall, ToolFailure, ToolServer, run, schema_of

GLOSSARY = {"session": "one conversation with one agent", "turn": "one prompt and all that follows"}


class Word(msgspec.Struct):
    word: str


async def look_up(call: ToolCall) -> str:
    word = call.read(Word).word
    if word not in GLOSSARY:
        # The model reads this: say what would work.
        raise ToolFailure(f"Unknown word {word!r}. Known: {', '.join(GLOSSARY)}")
    return GLOSSARY[word]


LOOK_UP = Tool("look_up", "Explain a word of this project.", schema_of(Word), look_up, read_only=True)


class Glossary(McpProxy):
    name = "glossary"

    def __init__(self) -> None:
        super().__init__([ToolServer("glossary", [LOOK_UP])])


if __name__ == "__main__":
    run(Glossary())
