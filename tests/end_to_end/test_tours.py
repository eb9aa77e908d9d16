"""A foreign agent presents a tour through the chain: in every door, over a proposal, and kept as a file."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from tests.review.trees import write
from tests.support.program import PROGRAM, Portico
from tests.support.stream import Json
from tests.support.terminal import Terminal

ROOT = Path(__file__).parents[2]
AGENT = shlex.join(["env", f"PYTHONPATH={ROOT}", sys.executable, "-m", "tests.peers.tool_calling_agent"])
CART = "class Cart:\n    def total(self):\n        return sum(self.prices)\n"


def presenting(*steps: Json) -> list[object]:
    return ["call", "portico-tours", "present_tour", {"title": "The cart", "steps": list(steps)}]


@pytest.fixture(autouse=True)
def files(portico: Portico) -> None:
    write(portico.workspace, {"cart.py": CART})


def test_a_foreign_agent_presents_a_tour(portico: Portico) -> None:
    steps = presenting(
        {"path": "cart.py", "symbol": "Cart.total", "text": "Adds."},
        {"path": "gone.py", "text": "Was here."},
    )
    stream = portico.exec(json.dumps([steps]), "--agent-command", AGENT).stream
    assert stream.only("tool_started")["title"] == "Tour: The cart"
    done = stream.only("tool_completed")
    first, second = done["output"]["tour"]["steps"]
    assert (first["line"], first["excerpt"]["text"]) == (2, CART.rstrip("\n"))
    assert second["problem"].startswith("gone.py cannot be read:")
    assert "The person sees the tour, with 2 steps." in stream.answer
    assert "Step 2: gone.py cannot be read:" in stream.answer


def test_a_tour_over_a_proposal_points_into_the_proposed_text(portico: Portico) -> None:
    changed = f"import math\n\n\n{CART}"
    deeds = [
        ["write", "cart.py", changed],
        presenting({"path": "cart.py", "symbol": "total", "text": "Moved."}),
    ]
    stream = portico.exec(json.dumps(deeds), "--agent-command", AGENT, "--mode", "proposal").stream
    (done,) = [one for one in stream.all("tool_completed") if "output" in one]
    (step,) = done["output"]["tour"]["steps"]
    assert (step["path"], step["line"]) == ("cart.py", 5)
    assert done["locations"] == [{"path": str(portico.workspace / "cart.py"), "line": 5}]
    assert (portico.workspace / "cart.py").read_text() == CART, "the proposal is not applied"


def test_a_plain_terminal_prints_all_steps(portico: Portico) -> None:
    steps = presenting({"path": "cart.py", "symbol": "Cart.total", "text": "Adds."})
    ran = portico.run("exec", json.dumps([steps]), "--agent-command", AGENT)
    assert "tour: The cart (1 step)" in ran.err
    assert ">    2      def total(self):" in ran.err


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
def test_a_chat_goes_through_a_tour_and_keeps_it(portico: Portico) -> None:
    command = (PROGRAM, "chat", "--agent-command", AGENT)
    terminal = Terminal(command, cwd=portico.workspace, environ=portico.environ({"TERM": "xterm-256color"}))
    terminal.until("❯")
    terminal.press("/tour\r")
    terminal.until("This session has no tour.")
    terminal.until("❯")
    steps = presenting(
        {"path": "cart.py", "symbol": "Cart", "text": "Holds the prices."},
        {"path": "cart.py", "line": 3, "text": "Adds them."},
    )
    terminal.press(f"{json.dumps([steps])}\r")
    terminal.until("/tour shows it step by step")
    terminal.until("❯")
    terminal.press("/tour\r")
    terminal.until("1/2 cart.py:1")
    terminal.until("Holds the prices.")
    terminal.until("q quit: ")
    terminal.press("\r")
    terminal.until("2/2 cart.py:3")
    terminal.until("Adds them.")
    terminal.until("q quit: ")
    terminal.press("b\r")
    terminal.until("1/2 cart.py:1")
    terminal.until("q quit: ")
    terminal.press("7\r")
    terminal.until("q quit: ")
    terminal.press("q\r")
    terminal.until("❯")
    terminal.press("/tour 2\r")
    terminal.until("2/2 cart.py:3")
    terminal.until("q quit: ")
    terminal.press("\r")
    terminal.until("❯")
    terminal.press("/tour keep\r")
    terminal.until("Kept as .tours/the-cart.tour.")
    terminal.until("❯")
    terminal.press("/tour keep\r")
    terminal.until(".tours/the-cart.tour already exists.")
    terminal.until("❯")
    terminal.press("/tour nine\r")
    terminal.until("the tour has steps 1 to 2")
    terminal.until("❯")
    terminal.press("/exit\r")
    assert terminal.end() == 0
    terminal.close()
    kept = json.loads((portico.workspace / ".tours" / "the-cart.tour").read_text())
    assert [step["file"] for step in kept["steps"]] == ["cart.py", "cart.py"]


def test_a_tour_does_not_show_what_a_link_leads_to(portico: Portico, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    write(outside, {"cart.py": "outside = 1\n"})
    write(portico.workspace, {".env": "TOKEN=of-the-person\n"})
    (portico.workspace / "shop").symlink_to(outside)
    (portico.workspace / "one.py").symlink_to(outside / "cart.py")
    (portico.workspace / "notes.txt").symlink_to(".env")
    steps = presenting(
        {"path": "cart.py", "symbol": "Cart.total", "text": "Adds."},
        {"path": "shop/cart.py", "text": "A folder that became a link."},
        {"path": "one.py", "text": "A file that became a link."},
        {"path": "notes.txt", "text": "A link to a file with secrets."},
    )
    stream = portico.exec(json.dumps([steps]), "--agent-command", AGENT).stream
    first, *others = stream.only("tool_completed")["output"]["tour"]["steps"]
    assert first["excerpt"]["text"] == CART.rstrip("\n")
    assert all(one["problem"] and "excerpt" not in one for one in others), others
    assert "outside = 1" not in json.dumps(stream.lines)
    assert "of-the-person" not in json.dumps(stream.lines)
