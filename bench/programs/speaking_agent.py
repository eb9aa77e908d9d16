"""An agent that answers in Markdown, in so many deltas over so many seconds, as the prompt tells it: LENGTH DELTAS SECONDS.

When it is done it writes the moments of its first and its last delta, in seconds since 1970, into a file.
It uses the standard library alone: speaking_agent.py FILE
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

END = "These were the last words."
SENTENCES = """The **harbour master** keeps a list of *every* boat, and `moor()` asks it first. No one moors twice,
because a berth that is taken says so; see [the rules](https://example.com/rules/%) for what happens at night.

"""
CODE = """```python
from harbour import Berth


def moor(boat: str, berth: Berth) -> bool:
    if berth.taken:  # number %
        return False
    berth.take(boat, lines=["bow", "stern"])
    return True
```

"""
PIECES = (
    "## Part %: how the harbour is run\n\n",
    SENTENCES,
    "1. Look at the tide\n2. Ask for a berth, for example number %\n3. Make fast:\n   - the bow first\n\n",
    CODE,
    "| boat | berth | crew |\n|---|--:|:-:|\n| Petrel | % | 4 |\n| Curlew | 7 | 2 |\n| Avocet | 12 | 9 |\n\n",
    "> A boat without lights stays outside until the morning.\n\n- [x] lights\n- [ ] bell, in fog\n\n",
)


def words(length: int) -> str:
    text, number = "", 0
    while len(text) < length:
        text += PIECES[number % len(PIECES)].replace("%", str(number))
        number += 1
    return text + END


def send(**fields: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **fields}) + "\n")
    sys.stdout.flush()


def speak(session: str, order: str) -> None:
    length, deltas, seconds = (float(number) for number in order.split())
    text = words(int(length))
    size = -(-len(text) // int(deltas))
    pieces = [text[place : place + size] for place in range(0, len(text), size)]
    started = time.time()
    for number, piece in enumerate(pieces):
        chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": piece}}
        send(method="session/update", params={"sessionId": session, "update": chunk})
        rest = started + seconds * (number + 1) / len(pieces) - time.time()
        if rest > 0:
            time.sleep(rest)
    Path(sys.argv[1]).write_text(json.dumps({"started": started, "ended": time.time()}))


def main() -> None:
    sessions = 0
    for line in sys.stdin:
        request = json.loads(line)
        result: dict[str, Any] = {}
        if request["method"] == "initialize":
            result = {"protocolVersion": 1, "agentCapabilities": {}}
        elif request["method"] == "session/new":
            sessions += 1
            result = {"sessionId": f"speaking-{sessions}"}
        elif request["method"] == "session/prompt":
            speak(request["params"]["sessionId"], request["params"]["prompt"][-1]["text"])
            result = {"stopReason": "end_turn"}
        if "id" in request:
            send(id=request["id"], result=result)


if __name__ == "__main__":
    main()
