"""Whatever is typed, Porter answers the turn and stays alive."""

import asyncio
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from portico.acp import _schema as schema
from portico.porter.commands.catalog import COMMANDS
from tests.porter.client import connected, reject

NAMES = st.sampled_from([*COMMANDS, "nonsense", "Search", "hélp"])
PIECES = st.sampled_from(
    [
        *("a.py", "needle", "/needle/", "/(/", "'", '"', "`", "\\", "s/a/b/", "s/a/b/ all", ":1-2", ":0", "..", "/etc"),
        *("add", "done", "remove", "clear", "1", "-1", ";", "\n", "\r\n", "\t", "\0", "\x1b[31m", "~", "$HOME", "*"),
        *("<<<<<<< SEARCH\n", "=======\n", ">>>>>>> REPLACE", "```", "---", "\N{ZERO WIDTH SPACE}", "é" * 300),
    ]
)  # fmt: skip
ARGUMENTS = st.one_of(st.text(max_size=80), st.lists(PIECES, max_size=6).map(" ".join))
COMMAND_LINES = st.builds(
    lambda name, space, rest: f"/{name}{space}{rest}", NAMES, st.sampled_from(" \n"), ARGUMENTS
)
PROMPTS = st.one_of(COMMAND_LINES, COMMAND_LINES, st.text(max_size=200))
BLOCKS = st.one_of(
    st.builds(lambda text: schema.TextContent(text=text), ARGUMENTS),
    st.builds(lambda name, uri: schema.ResourceLink(name=name, uri=uri), st.text(max_size=9), ARGUMENTS),
    st.builds(
        lambda uri, text: schema.EmbeddedResource(
            resource=schema.EmbeddedResourceResource(uri=uri, text=text, blob=None if text else "YQ==")
        ),
        st.one_of(ARGUMENTS, ARGUMENTS.map(lambda rest: f"file://{rest}")),
        st.one_of(st.none(), st.text(min_size=1, max_size=50)),
    ),
)


async def converse(folder: Path, state: Path, prompts: list[str], blocks: list[schema.ContentBlock]) -> None:
    async with connected(state, terminals=False, files=False) as client:
        client.answer = reject
        session = await client.open(folder)
        for prompt in prompts:
            client.forget()
            assert await client.prompt(session, prompt, *blocks) == "end_turn"
            assert client.text
            assert all(client.statuses(call)[-1] in ("completed", "failed") for call in client.calls)
        client.forget()
        await client.end.load_session(
            schema.LoadSessionRequest(session_id=session, cwd=str(folder), mcp_servers=[])
        )
        told = [chunk.content for chunk in client.updates(schema.UserMessageChunk)]
        assert told == [part for prompt in prompts for part in (schema.TextContent(text=prompt), *blocks)]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(prompts=st.lists(PROMPTS, min_size=1, max_size=3), blocks=st.lists(BLOCKS, max_size=2))
def test_every_prompt_is_answered_and_told_again(
    prompts: list[str], blocks: list[schema.ContentBlock]
) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "work")
        folder.mkdir()
        (folder / "a.py").write_text("def needle(): ...\n")
        asyncio.run(converse(folder, Path(place, "state"), prompts, blocks))
        assert [path.name for path in folder.iterdir()] == ["a.py"]
        assert (folder / "a.py").read_text() == "def needle(): ...\n"
