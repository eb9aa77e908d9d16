"""A client that disconnects at any moment of a permission request, under every policy: nothing is granted.

The sets of options and the policies are those of the permission matrix.
"""

import asyncio
import json
from pathlib import Path

import msgspec
import pytest

from tests.conductor.permission_support import Scene, approvals_in, broker, edit, selected
from tests.conductor.test_permission_matrix import (
    SETTINGS,
    STRANGE,
    SUBSETS,
    Expected,
    Kept,
    Setting,
    allow_for_session,
)

SESSION = "session 0"
FOR_GOOD = {"portico": {"scope": "always"}}


class Moment(msgspec.Struct, frozen=True):
    """Moment at which the client is lost: whether it has read the question, and how much of its answer is out."""

    name: str
    reads: bool = True
    share: float = 0.0
    answers: bool = False


MOMENTS = [
    Moment("before it reads the question", reads=False),
    Moment("with the question before it"),
    Moment("at the first word of its answer", share=0.1),
    Moment("in the middle of its answer", share=0.6),
    Moment("with all of its answer written but the end of the line", share=1.0),
    Moment("right after its answer", share=1.0, answers=True),
]


async def told_until_the_end(scene: Scene) -> list[str]:
    """Result for the agent before its chain ends: options, `cancelled` or `error`."""
    heard: list[str] = []
    while True:
        try:
            message = await scene.answer()
        except EOFError:
            return heard
        if "method" not in message:
            outcome = message.get("result", {}).get("outcome", {"outcome": "error"})
            heard.append(str(outcome.get("optionId", outcome["outcome"])))


async def lose_client(scene: Scene, moment: Moment, option_id: str) -> None:
    """Let the client write so much of an answer that allows for good, and go away."""
    if moment.reads:
        shown = await scene.shown()
        result = selected(option_id, _meta=FOR_GOOD)
        line = json.dumps({"jsonrpc": "2.0", "id": shown["id"], "result": result}).encode()
        scene.ends.client.stream.write(line[: round(len(line) * moment.share)])
        if moment.answers:
            scene.ends.client.stream.write(b"\n")
    await scene.ends.client.stream.close()


@pytest.mark.parametrize("knows_portico", [False, True], ids=["any client", "knows portico"])
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda one: one.name)
@pytest.mark.parametrize("moment", MOMENTS, ids=lambda one: one.name)
async def test_nothing_is_granted_that_nobody_gave(
    moment: Moment, setting: Setting, knows_portico: bool
) -> None:
    for options in [*SUBSETS, *STRANGE]:
        expected, kept = Expected(options), Kept(setting.approved)
        async with broker(kept, setting.rules, knows_portico=knows_portico) as scene, asyncio.timeout(20):
            await scene.open(SESSION)
            if setting.for_session:
                await allow_for_session(scene, SESSION, knows_portico)
            scene.ask(options=options, session_id=SESSION)
            decided = expected.decided(setting)
            if decided is not None:
                assert await told(scene) == decided
                await scene.ends.client.stream.close()
                assert await told_until_the_end(scene) == []
                continue
            chosen = next((one["optionId"] for one in options if one["kind"] == "allow_once"), "yes")
            await lose_client(scene, moment, chosen)
            given = answer_of(expected, chosen) if moment.answers else expected.denial
            assert await told_until_the_end(scene) == [given], options
            remembers = moment.answers and knows_portico and chosen == given and expected.once is not None
            assert len(kept.approved) == len(setting.approved) + remembers


def answer_of(expected: Expected, chosen: str) -> str:
    """Outcome of choosing an option: the option, unless it is none or could mean a no as well."""
    meanings = {kind.partition("_")[0] for kind in expected.kinds.get(chosen, ())}
    return chosen if meanings == {"allow"} else expected.denial


async def told(scene: Scene) -> str:
    answer = await scene.answer()
    outcome = answer.get("result", {}).get("outcome", {"optionId": "error"})
    return str(outcome["optionId"])


class TestSeveralQuestions:
    async def test_each_that_is_open_is_denied_and_each_that_was_answered_keeps_its_answer(
        self, tmp_path: Path
    ) -> None:
        async with broker(approvals_in(tmp_path)) as scene:
            for name in "abc":
                scene.ask(edit(f"{name}.txt"))
            shown = [await scene.shown() for _ in "abc"]
            scene.to_agent(id=shown[1]["id"], result=selected("yes"))
            assert await scene.chosen() == "yes"
            await scene.ends.client.stream.close()
            assert await told_until_the_end(scene) == ["no", "no"]

    async def test_a_scope_that_was_chosen_before_answers_what_it_covers_and_no_more(
        self, tmp_path: Path
    ) -> None:
        async with broker(approvals_in(tmp_path)) as scene:
            asked = [scene.ask(edit(name)) for name in ("a.txt", "b.txt", "a.txt")]
            shown = [await scene.shown() for _ in asked]
            scene.to_agent(id=shown[0]["id"], result=selected("portico:session"))
            answers = [await scene.answer(), await scene.answer()]
            assert [one["id"] for one in answers] == [asked[0], asked[2]]
            await scene.ends.client.stream.close()
            assert await told_until_the_end(scene) == ["no"]

    async def test_a_client_that_is_gone_before_the_agent_asks_grants_nothing(self, tmp_path: Path) -> None:
        async with broker(approvals_in(tmp_path)) as scene:
            await scene.ends.client.stream.close()
            scene.ask()
            assert await told_until_the_end(scene) in ([], ["no"])
