"""Words of the person in a prompt, apart from what components add to it for the model."""

import pytest

from portico.acp import _schema as schema
from portico.conductor.prompt_message import context_block
from portico.porter.prompt import read_prompt


@pytest.mark.parametrize(
    ("text", "command", "title"),
    [
        ("Fix the tests.", None, "Fix the tests."),
        ("/explain Boat", "explain", "/explain Boat"),
        ("where is Boat defined", None, "where is Boat defined"),
    ],
)
def test_context_for_the_model_is_neither_a_title_nor_in_the_way_of_a_command(
    text: str, command: str | None, title: str
) -> None:
    blocks = [context_block("<skills>\nOne skill.\n</skills>"), schema.TextContent(text=text)]
    prompt = read_prompt(blocks)
    assert (prompt.command, prompt.summary()) == (command, title)
    assert prompt.meant == read_prompt(blocks[1:]).meant
    assert list(prompt.blocks) == blocks
