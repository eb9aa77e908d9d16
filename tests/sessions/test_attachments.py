"""Files and bytes that go along with a prompt: what the log keeps, and what each agent gets."""

import base64
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from portico.acp import _schema as acp
from portico.domain import codecs
from portico.domain.errors import ErrorCode, FileMissing, InvalidInput
from portico.domain.events import ErrorReported, Event, Notice, PromptSubmitted
from portico.sessions.content.attachments import MAX_BYTES, AttachedBytes, AttachedFile, read_attachments
from tests.sessions.support import FakeAgent, kinds, states, world

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
WAV = b"RIFF\0\0\0\0WAVEfmt "
EVERYTHING = acp.PromptCapabilities(image=True, audio=True, embedded_context=True)
NOTHING = acp.PromptCapabilities()


async def echo(agent: FakeAgent, request: acp.PromptRequest) -> None:
    agent.say("seen")


class Sent:
    """A turn with something attached: the blocks that the agent got, and the events in the log."""

    def __init__(self, blocks: list[acp.ContentBlock], events: list[Event]) -> None:
        self.blocks = blocks
        self.events = events

    @property
    def notices(self) -> list[str]:
        return [event.payload.text for event in self.events if isinstance(event.payload, Notice)]

    @property
    def logged(self) -> list[dict[str, Any]]:
        (prompt,) = [event.payload for event in self.events if isinstance(event.payload, PromptSubmitted)]
        return [codecs.decode_json(block) for block in prompt.blocks]


async def send(folder: Path, takes: acp.PromptCapabilities, *things: AttachedFile | AttachedBytes) -> Sent:
    capabilities = acp.AgentCapabilities(prompt_capabilities=takes)
    async with world(echo, folder, capabilities=capabilities) as host:
        events = await host.prompt("look", blocks=await read_attachments(things))
        (request,) = host.agent.prompts
    words, *blocks = request.prompt
    assert words == acp.TextContent(text="look")
    return Sent(blocks, events)


def put(folder: Path, name: str, content: bytes) -> AttachedFile:
    path = folder / name
    path.write_bytes(content)
    return AttachedFile(path)


async def test_an_agent_that_takes_images_gets_the_image_itself(tmp_path: Path) -> None:
    sent = await send(tmp_path, EVERYTHING, put(tmp_path, "shot.png", PNG))
    (block,) = sent.blocks
    assert isinstance(block, acp.ImageContent)
    assert (block.mime_type, base64.b64decode(block.data)) == ("image/png", PNG)
    assert sent.logged[0]["data"] == block.data
    assert sent.notices == []


async def test_an_agent_that_takes_no_images_gets_a_link_and_the_person_is_told(tmp_path: Path) -> None:
    sent = await send(tmp_path, NOTHING, put(tmp_path, "shot.png", PNG))
    assert sent.blocks == [
        acp.ResourceLink(name="shot.png", uri=(tmp_path / "shot.png").as_uri(), mime_type="image/png")
    ]
    assert sent.notices == ["The agent fake does not accept images, so a link to shot.png was sent instead."]
    assert sent.logged[0]["type"] == "image"


async def test_a_text_file_goes_inside_the_prompt_where_the_agent_takes_that(tmp_path: Path) -> None:
    sent = await send(tmp_path, EVERYTHING, put(tmp_path, "app.ts", "let a = '€'\n".encode()))
    (block,) = sent.blocks
    assert isinstance(block, acp.EmbeddedResource)
    assert block.resource.text == "let a = '€'\n"
    assert block.resource.uri == (tmp_path / "app.ts").as_uri()
    assert (block.resource.mime_type or "").startswith("text/")
    linked = await send(tmp_path, NOTHING, AttachedFile(tmp_path / "app.ts"))
    assert [type(block) for block in linked.blocks] == [acp.ResourceLink]
    assert linked.notices == [
        "The agent fake does not accept embedded files, so a link to app.ts was sent instead."
    ]


async def test_a_recording_is_treated_like_an_image(tmp_path: Path) -> None:
    sent = await send(tmp_path, EVERYTHING, put(tmp_path, "memo.wav", WAV))
    (block,) = sent.blocks
    assert isinstance(block, acp.AudioContent)
    assert base64.b64decode(block.data) == WAV
    linked = await send(tmp_path, NOTHING, AttachedFile(tmp_path / "memo.wav"))
    assert [type(block) for block in linked.blocks] == [acp.ResourceLink]
    assert "memo.wav" in linked.notices[0]


async def test_any_other_file_is_linked(tmp_path: Path) -> None:
    sent = await send(tmp_path, EVERYTHING, put(tmp_path, "data.zip", b"PK\0\xff"))
    assert [type(block) for block in sent.blocks] == [acp.ResourceLink]
    assert sent.notices == []


async def test_what_an_image_is_called_does_not_decide_what_it_is(tmp_path: Path) -> None:
    (block,) = await read_attachments([put(tmp_path, "shot.jpg", PNG)])
    assert codecs.decode_json(block)["mimeType"] == "image/png"
    (drawing,) = await read_attachments([put(tmp_path, "a.svg", b"<svg/>")])
    assert codecs.decode_json(drawing)["type"] == "resource"


class TestBytesWithoutAFile:
    async def test_an_image_is_left_out_for_an_agent_that_could_not_open_it(self, tmp_path: Path) -> None:
        pasted = AttachedBytes(name="pasted image.png", data=PNG, mime_type="image/png")
        sent = await send(tmp_path, EVERYTHING, pasted)
        assert [type(block) for block in sent.blocks] == [acp.ImageContent]
        without = await send(tmp_path, NOTHING, pasted)
        assert without.blocks == []
        assert without.notices == ["The agent fake does not accept images, so pasted image.png was left out."]
        assert without.logged[0]["type"] == "image"

    async def test_text_is_sent_as_words_instead(self, tmp_path: Path) -> None:
        sent = await send(tmp_path, NOTHING, AttachedBytes(name="log.txt", data=b"line one"))
        assert sent.blocks == [acp.TextContent(text="log.txt:\n\nline one")]
        assert sent.notices == []

    async def test_other_bytes_go_inside_the_prompt(self, tmp_path: Path) -> None:
        pasted = AttachedBytes(name="a.pdf", data=b"%PDF\0", mime_type="application/pdf")
        (block,) = (await send(tmp_path, EVERYTHING, pasted)).blocks
        assert isinstance(block, acp.EmbeddedResource)
        assert block.resource.blob == base64.b64encode(b"%PDF\0").decode()


async def test_the_prompt_is_in_the_log_before_the_agent_is_asked_what_it_takes(tmp_path: Path) -> None:
    sent = await send(tmp_path, NOTHING, put(tmp_path, "shot.png", PNG))
    assert kinds(sent.events)[:2] == ["prompt_submitted", "state_changed"]
    assert states(sent.events)[0] == "starting"


async def test_a_file_that_changes_after_it_was_attached_is_sent_as_it_was(tmp_path: Path) -> None:
    blocks = await read_attachments([put(tmp_path, "a.txt", b"before")])
    (tmp_path / "a.txt").write_text("after")
    capabilities = acp.AgentCapabilities(prompt_capabilities=EVERYTHING)
    async with world(echo, tmp_path, capabilities=capabilities) as host:
        await host.prompt(blocks=blocks)
        block = host.agent.prompts[0].prompt[1]
    assert isinstance(block, acp.EmbeddedResource)
    assert block.resource.text == "before"


async def test_secrets_may_be_attached_by_their_owner(tmp_path: Path) -> None:
    (block,) = await read_attachments([put(tmp_path, ".env", b"TOKEN=1")])
    assert codecs.decode_json(block)["resource"]["text"] == "TOKEN=1"


async def test_what_cannot_be_attached_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(FileMissing, match="does not exist"):
        await read_attachments([AttachedFile(tmp_path / "missing")])
    with pytest.raises(InvalidInput, match="is a folder"):
        await read_attachments([AttachedFile(tmp_path)])
    with pytest.raises(InvalidInput, match="not a regular file"):
        await read_attachments([AttachedFile(Path("/dev/zero"))])
    (tmp_path / "huge.log").touch()
    with (tmp_path / "huge.log").open("r+b") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(InvalidInput, match="at most 10 MB"):
        await read_attachments([AttachedFile(tmp_path / "huge.log")])
    with pytest.raises(InvalidInput, match="at most 10 MB"):
        await read_attachments([AttachedBytes(name="huge", data=bytes(MAX_BYTES + 1))])


async def test_many_large_files_are_too_much_together(tmp_path: Path) -> None:
    large = [AttachedBytes(name=f"{number}.png", data=PNG + bytes(MAX_BYTES - 100)) for number in range(3)]
    with pytest.raises(InvalidInput, match="too large for one prompt"):
        await read_attachments(large)


async def test_content_that_makes_no_sense_fails_the_turn_and_says_why(tmp_path: Path) -> None:
    async with world(echo, tmp_path) as host:
        turn = await host.prompt(blocks=(Raw(b'{"type":"hologram"}'),))
    error = next(event.payload for event in turn if isinstance(event.payload, ErrorReported))
    assert error.code is ErrorCode.INVALID_INPUT
    assert "hologram" in error.message
    assert states(turn)[-1] == "failed"
