"""An agent presents a tour: each step is found in the code as it is, and one whose place is gone says so."""

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from portico.components.tours.component import ToursProxy, find_place
from portico.domain.tours import Tour, TourStep, file_name, read_tour, to_code_tour
from tests.conductor.mcp_support import call, frame, introduce, open_session
from tests.conductor.support import Ends, chain
from tests.review.trees import write

CART = """import math


class Cart:
    def __init__(self) -> None:
        self.prices = []

    def total(self) -> int:
        return sum(self.prices)


def total(cart: Cart) -> int:
    return cart.total()
"""
Json = dict[str, Any]


class Guide:
    """An agent that presents tours, and a client that reads the files of a folder."""

    def __init__(self, ends: Ends, work: Path, server_id: str) -> None:
        self.ends = ends
        self.work = work
        self.server_id = server_id
        self.read: list[str] = []

    async def present(self, *steps: Json, title: str = "The cart") -> tuple[str, list[Json]]:
        """Response to the agent, and the updates that the client gets."""
        asked = call(self.server_id, "t", "present_tour", title=title, steps=list(steps))
        self.ends.agent.send(frame(id="t", method="mcp/message", params=asked))
        updates: list[Json] = []
        for _ in self._readable(steps):
            wanted = await self.ends.client.receive()
            assert wanted["method"] == "fs/read_text_file"
            self.ends.client.send(frame(id=wanted["id"], **self._content(wanted["params"]["path"])))
        told = (await self.ends.agent.receive())["result"]["result"]
        text = ("FAILED: " if told.get("isError") else "") + told["content"][0]["text"]
        while not text.startswith("FAILED") and len(updates) < 2:
            updates.append((await self.ends.client.receive())["params"]["update"])
        return text, updates

    def _readable(self, steps: tuple[Json, ...]) -> set[str]:
        """The files that the client is asked for, each once."""
        paths = {os.path.normpath(self.work / step["path"]) for step in steps}
        return {path for path in paths if Path(path).is_relative_to(self.work) and ".env" not in path}

    def _content(self, path: str) -> Json:
        self.read.append(path)
        if Path(path).exists():
            return {"result": {"content": Path(path).read_text()}}
        return {"error": {"code": -32002, "message": "There is no such file."}}


@asynccontextmanager
async def guide(tmp_path: Path) -> AsyncIterator[Guide]:
    work = tmp_path / "work"
    write(work, {"shop/cart.py": CART, "secrets/.env": "KEY=1\n"})
    async with chain(ToursProxy()) as ends:
        await introduce(ends, acp=True)
        (server,) = await open_session(ends, cwd=str(work))
        yield Guide(ends, work, server["serverId"])


async def test_a_tour_is_a_tool_call_whose_output_has_the_steps_at_their_places(tmp_path: Path) -> None:
    async with guide(tmp_path) as agent:
        answer, (begun, done) = await agent.present(
            {"path": "shop/cart.py", "symbol": "Cart.total", "text": "Adds the prices."},
            {"path": str(agent.work / "shop/cart.py"), "line": 12, "text": "Asks the cart."},
        )
    assert answer == "The person sees the tour, with 2 steps."
    assert (begun["title"], begun["sessionUpdate"]) == ("Tour: The cart", "tool_call")
    assert done["toolCallId"] == begun["toolCallId"]
    assert [place["line"] for place in done["locations"]] == [8, 12]
    assert "1. `shop/cart.py:8`: Adds the prices." in done["content"][0]["content"]["text"]
    tour = read_tour(msgspec.Raw(json.dumps(done["rawOutput"]).encode()))
    assert tour is not None
    first, second = tour.steps
    assert (first.path, first.line, first.symbol, first.text) == (
        "shop/cart.py", 8, "Cart.total", "Adds the prices.",
    )  # fmt: skip
    assert first.excerpt is not None
    assert first.excerpt.line == 6
    assert first.excerpt.text.startswith("        self.prices = []\n\n    def total")
    assert (second.path, second.line) == ("shop/cart.py", 12)


async def test_a_step_into_a_deleted_file_says_so_and_the_others_are_shown(tmp_path: Path) -> None:
    async with guide(tmp_path) as agent:
        answer, (_, done) = await agent.present(
            {"path": "shop/cart.py", "line": 4, "text": "Here."},
            {"path": "shop/gone.py", "line": 1, "text": "There."},
            {"path": "shop/cart.py", "symbol": "refund", "text": "Nowhere."},
            {"path": "shop/cart.py", "line": 400, "text": "Beyond."},
            {"path": "../outside.py", "text": "Outside."},
            {"path": "secrets/.env", "text": "Secret."},
        )
        assert not any(".env" in path for path in agent.read)
    assert "Step 2: shop/gone.py cannot be read: There is no such file." in answer
    assert "Step 3: refund was not found in shop/cart.py." in answer
    assert "Step 4: shop/cart.py has 13 lines; line 400 is not there." in answer
    assert "Step 5: ../outside.py is outside of the folder of the session." in answer
    assert "Step 6: secrets/.env may hold secrets, so it is not shown." in answer
    steps = done["rawOutput"]["tour"]["steps"]
    assert [bool(step.get("problem")) for step in steps] == [False, True, True, True, True, True]
    assert len(done["locations"]) == 1


async def test_a_tour_without_any_place_is_not_shown(tmp_path: Path) -> None:
    async with guide(tmp_path) as agent:
        answer, updates = await agent.present({"path": "gone.py", "text": "There."})
    assert answer.startswith("FAILED: No step has a place")
    assert updates == []


@pytest.mark.parametrize(
    ("line", "symbol", "expected"),
    [
        (8, "Cart.total", 8),
        (1, "Cart.total", 8),  # Lines have moved since the agent looked.
        (11, "total", 12),
        (8, "total", 8),
        (1, "Cart", 4),
        (13, "", 13),
        (14, "", None),
        (3, "nothing", None),
    ],
)
def test_a_place_is_found_by_its_symbol_when_lines_have_moved(
    line: int, symbol: str, expected: int | None
) -> None:
    assert find_place(CART.splitlines(), line, symbol) == expected


@pytest.mark.parametrize(
    ("text", "symbol", "expected"),
    [
        ("x := NewCart()\nfunc (c *Cart) Total() int {\n", "Cart.Total", 2),
        ("class Big extends Cart {}\nexport class Cart {\n  total() {\n", "Cart", 2),
        ("use cart::Cart;\nreturn total(1)\npub fn total(x: u8) -> u8 {\n", "total", 3),
        ("this.total()\n  total(a: number): number {\n", "total", 2),
        ("total()\n    public static int total(int[] prices) {\n", "total", 2),
        ("subtotal = 1\n$total = 2\ntotal = 3\n", "total", 3),
    ],
)
def test_a_definition_goes_before_mentions_in_any_language(text: str, symbol: str, expected: int) -> None:
    assert find_place(text.splitlines(), 0, symbol) == expected


def test_a_tour_is_kept_as_a_code_tour_file() -> None:
    steps = {
        "tour": {
            "title": "The cart, step by step!",
            "steps": [
                {
                    "path": "cart.py",
                    "line": 8,
                    "symbol": "total",
                    "text": "Adds.",
                    "excerpt": {"line": 7, "text": "\n    def total(self) -> int:\n        pass"},
                },
                {"path": "a.py", "line": 3, "text": "Three."},
                {"path": "gone.py", "text": "Gone.", "problem": "gone.py cannot be read"},
            ],
        }
    }
    tour = read_tour(msgspec.Raw(json.dumps(steps).encode()))
    assert tour is not None
    assert file_name(tour) == ".tours/the-cart-step-by-step.tour"
    kept = json.loads(to_code_tour(tour))
    assert kept["title"] == "The cart, step by step!"
    pattern = kept["steps"][0].pop("pattern")
    assert pattern.endswith(r"def\ total\(self\)\ \->\ int:")
    assert kept["steps"] == [
        {"file": "cart.py", "description": "Adds."},
        {"file": "a.py", "line": 3, "description": "Three."},
        {"file": "gone.py", "description": "Gone."},
    ]


@pytest.mark.parametrize(
    "output", [b"null", b'{"tour": 1}', b'{"tour": {"title": "x", "steps": []}}', b'"tour"']
)
def test_other_outputs_are_no_tours(output: bytes) -> None:
    assert read_tour(msgspec.Raw(output)) is None
    assert read_tour(msgspec.UNSET) is None


def test_a_title_without_letters_has_a_file_name_too() -> None:
    assert file_name(Tour("买", (TourStep(path="a", text="b"),))) == ".tours/tour.tour"
