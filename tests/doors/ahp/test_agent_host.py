"""Sessions of a host as clients of the Agent Host Protocol see them: state, actions, and what they may do."""

from pathlib import Path
from typing import Any

import pytest

from portico.acp import _schema as acp
from portico.doors.ahp.versions import choose_version
from tests.doors.ahp.support import CHAT, ROOT, SESSION, Peer, agent_host, message
from tests.doors.api.test_calls import asks
from tests.sessions.support import FakeAgent


async def hello(agent: FakeAgent, request: acp.PromptRequest) -> None:
    agent.update(acp.AgentThoughtChunk(content=acp.TextContent(text="hm")))
    agent.say("Hello ")
    agent.say("world")


async def waits(agent: FakeAgent, request: acp.PromptRequest) -> acp.PromptResponse:
    agent.say("working")
    await agent.canceled.wait()
    return acp.PromptResponse(stop_reason="cancelled")


async def turn_to_end(peer: Peer, text: str = "hi") -> dict[str, Any]:
    """Run a turn; the turn in a fresh snapshot."""
    await peer.start_turn(text)
    await peer.action("chat/turnComplete")
    turn: dict[str, Any] = (await peer.subscribe(CHAT))["turns"][-1]
    return turn


async def test_a_client_lists_agents_starts_a_session_and_sees_a_turn(tmp_path: Path) -> None:
    async with agent_host(hello, tmp_path) as host:
        peer = host.peer()
        started = await peer.initialize(ROOT)
        assert (started["protocolVersion"], started["serverInfo"]["name"]) == ("1.0.0", "portico")
        agents = started["snapshots"][0]["state"]["agents"]
        assert [one["provider"] for one in agents] == ["fake", "other"]
        assert (await peer.ask("listSessions", channel=ROOT))["items"] == []
        assert (await peer.create())["turns"] == []
        added = await peer.notification("root/sessionAdded")
        assert added["summary"]["resource"] == SESSION

        turn = await turn_to_end(peer)
        assert (turn["id"], turn["state"], turn["message"]["text"]) == ("mine-1", "complete", "hi")
        assert [(one["kind"], one["content"]) for one in turn["responseParts"]] == [
            ("reasoning", "hm"),
            ("markdown", "Hello world"),
        ]
        # The client's own action comes back under its number, and what was streamed is what the snapshot has.
        assert (
            peer.actions[0]["action"]["type"] == "session/chatUpdated"
            or peer.kinds()[0] == "chat/turnStarted"
        )
        own = next(one for one in peer.actions if one["action"]["type"] == "chat/turnStarted")
        assert own["origin"] == {"clientId": "one", "clientSeq": 1}
        seqs = [one["serverSeq"] for one in peer.actions]
        assert seqs == sorted(set(seqs))
        assert seqs[0] > started["serverSeq"]
        listed = (await peer.ask("listSessions", channel=ROOT))["items"]
        assert [(one["resource"], one["status"], one["defaultChat"]) for one in listed] == [
            (SESSION, 1, CHAT)
        ]


@pytest.mark.parametrize("approved", [True, False])
async def test_a_permission_is_answered_by_a_client_and_seen_by_all(tmp_path: Path, approved: bool) -> None:
    async with agent_host(asks("a"), tmp_path) as host:
        peer, other = host.peer(), host.peer("two")
        await peer.initialize()
        await other.initialize()
        await peer.create()
        session = await other.subscribe(SESSION)
        assert "inputNeeded" not in session
        await other.subscribe(CHAT)
        await peer.start_turn("go")
        ready = await peer.action("chat/toolCallReady", confirmationTitle="a")
        assert [(one["id"], one["kind"]) for one in ready["action"]["options"]] == [
            ("yes", "approve"),
            ("no", "deny"),
        ]
        needed = await other.action("session/inputNeededSet")
        assert needed["action"]["request"]["kind"] == "toolConfirmation"
        assert (await other.subscribe(CHAT))["status"] == 24

        # An option that does not fit the answer is rejected, and nothing was decided.
        await other.dispatch(
            "chat/toolCallConfirmed", turnId="mine-1", toolCallId="a", approved=False, selectedOptionId="yes"
        )
        rejected = await other.action("chat/toolCallConfirmed")
        assert "not an option" in rejected["rejectionReason"]
        assert not any(one.get("rejectionReason") for one in peer.actions)

        await other.dispatch("chat/toolCallConfirmed", turnId="mine-1", toolCallId="a", approved=approved)
        decided = await peer.action("chat/toolCallConfirmed")
        assert decided["action"]["approved"] is approved
        assert decided["action"]["selectedOptionId"] == ("yes" if approved else "no")
        assert decided["origin"]["clientId"] == "two"
        await other.action("session/inputNeededRemoved")
        await peer.action("chat/turnComplete")
        (part,) = (await peer.subscribe(CHAT))["turns"][-1]["responseParts"]
        assert part["toolCall"]["reason"] == ("skipped" if approved else "denied")
        # Too late: the request is no longer open.
        await other.dispatch("chat/toolCallConfirmed", turnId="late", toolCallId="a", approved=True)
        assert "waiting" in (await other.action("chat/toolCallConfirmed", turnId="late"))["rejectionReason"]


async def test_messages_are_queued_changed_and_sent_after_the_turn(tmp_path: Path) -> None:
    async with agent_host(asks("a"), tmp_path) as host:
        peer = host.peer()
        await peer.initialize()
        await peer.create()
        await peer.start_turn("one")
        await peer.action("session/inputNeededSet")
        await peer.start_turn("again", "mine-2")
        assert "Queue the message" in (await peer.action("chat/turnStarted"))["rejectionReason"]
        for name in ("q1", "q2"):
            await peer.dispatch("chat/pendingMessageSet", kind="queued", id=name, message=message(name))
            assert (await peer.action("chat/pendingMessageSet", id=name))["origin"]["clientId"] == "one"
        await peer.dispatch("chat/queuedMessagesReordered", order=["q2", "q1"])
        await peer.action("chat/queuedMessagesReordered", order=["q2", "q1"])
        queued = (await peer.subscribe(CHAT))["queuedMessages"]
        assert [one["id"] for one in queued] == ["q2", "q1"]
        await peer.dispatch("chat/pendingMessageRemoved", kind="queued", id="q1")
        await peer.action("chat/pendingMessageRemoved", id="q1")
        await peer.dispatch("chat/toolCallConfirmed", turnId="mine-1", toolCallId="a", approved=True)
        started = await peer.action("chat/turnStarted", queuedMessageId="q2")
        assert started["action"]["message"]["text"] == "q2"
        assert "queuedMessages" not in await peer.subscribe(CHAT)


async def test_a_message_queued_in_an_idle_chat_is_sent_at_once(tmp_path: Path) -> None:
    async with agent_host(hello, tmp_path) as host:
        peer = host.peer()
        await peer.initialize()
        await peer.create()
        await peer.dispatch("chat/pendingMessageSet", kind="queued", id="q1", message=message("now"))
        assert (await peer.action("chat/turnStarted"))["action"]["queuedMessageId"] == "q1"
        await peer.dispatch("chat/pendingMessageSet", kind="steering", id="s1", message=message("left"))
        assert (await peer.action("chat/pendingMessageSet", id="s1"))["rejectionReason"]


async def test_two_clients_write_one_draft_and_end_with_the_same(tmp_path: Path) -> None:
    async with agent_host(hello, tmp_path) as host:
        peer, other = host.peer(), host.peer("two")
        await peer.initialize()
        await other.initialize()
        await peer.create()
        await other.subscribe(CHAT)
        for number in range(5):
            await peer.dispatch("chat/draftChanged", draft=message(f"a{number}"))
            await other.dispatch("chat/draftChanged", draft=message(f"b{number}"))
        drafts = [[one["action"]["draft"]["text"] for one in each.actions] for each in (peer, other)]

        def settled() -> bool:
            nonlocal drafts
            drafts = [
                [one["action"]["draft"]["text"] for one in each.actions if "draft" in one["action"]]
                for each in (peer, other)
            ]
            return len(drafts[0]) >= 10 and len(drafts[1]) >= 10

        await peer.until(settled)
        assert drafts[0] == drafts[1]
        assert (await peer.subscribe(CHAT))["draft"]["text"] == drafts[0][-1]
        stored = await host.service.drafts.get(host.host.session_id(CHAT))
        assert stored.draft == drafts[0][-1]
        # What was sent is no draft any more.
        await peer.start_turn(stored.draft)
        await other.action("chat/turnComplete")
        assert "draft" not in await peer.subscribe(CHAT)


async def test_a_turn_is_stopped_and_a_session_renamed_and_deleted(tmp_path: Path) -> None:
    async with agent_host(waits, tmp_path) as host:
        peer = host.peer()
        await peer.initialize(ROOT)
        await peer.create()
        await peer.start_turn("go")
        await peer.action("chat/responsePart")
        await peer.dispatch("chat/turnCancelled", turnId="other", duration=1)
        assert "not in progress" in (await peer.action("chat/turnCancelled"))["rejectionReason"]
        await peer.dispatch("chat/turnCancelled", turnId="mine-1", duration=1)
        stopped = await peer.action("chat/turnCancelled")
        assert stopped["origin"]["clientId"] == "one"
        await peer.dispatch("session/titleChanged", SESSION, title="Mine")
        assert (await peer.action("session/titleChanged"))["origin"]["clientSeq"] == 4
        assert (await peer.subscribe(SESSION))["title"] == "Mine"
        assert await peer.ask("disposeSession", channel=SESSION) is None
        assert (await peer.notification("root/sessionRemoved"))["session"] == SESSION
        assert (await peer.ask("subscribe", channel=SESSION))["code"] == -32001


async def test_a_client_that_comes_back_gets_what_it_missed_or_snapshots(tmp_path: Path) -> None:
    async with agent_host(hello, tmp_path) as host:
        peer, other = host.peer(), host.peer("two")
        await peer.initialize()
        await other.initialize()
        await peer.create()
        await other.subscribe(CHAT)
        await turn_to_end(peer)
        missed = peer.actions[-1]["serverSeq"]
        await other.until(lambda: other.actions[-1]["serverSeq"] >= missed - 2)
        await peer.leave()
        await other.start_turn("while away", "away")
        await other.action("chat/turnComplete", turnId="away")

        back = host.peer("one")
        gone = "ahp-session:/gone"
        told = await back.ask(
            "reconnect",
            channel=ROOT,
            clientId="one",
            lastSeenServerSeq=missed,
            subscriptions=[ROOT, CHAT, gone],
        )
        assert told["type"] == "replay"
        assert told["missing"] == [gone]
        kinds = [one["action"]["type"] for one in told["actions"]]
        assert kinds == other.kinds()[-len(kinds) :]
        assert kinds[0] == "chat/turnStarted"
        # From here on it is told live, each action once.
        await other.start_turn("live", "live")
        await back.action("chat/turnComplete", turnId="live")
        assert back.actions[0]["serverSeq"] > told["actions"][-1]["serverSeq"]

        for seen in (0, missed + 10**15):
            late = host.peer(f"late-{seen}")
            told = await late.ask(
                "reconnect", channel=ROOT, clientId="x", lastSeenServerSeq=seen, subscriptions=[ROOT, CHAT]
            )
            assert told["type"] == "snapshot"
            assert len(told["snapshots"][1]["state"]["turns"]) == 3


async def test_what_other_doors_do_reaches_clients(tmp_path: Path) -> None:
    async with agent_host(hello, tmp_path) as host:
        peer = host.peer()
        await peer.initialize(ROOT)
        session_id = await host.world.start()
        await peer.notification("root/sessionAdded")
        chat = f"ahp-chat:/{session_id}"
        await peer.subscribe(chat)
        await host.service.drafts.write_draft(session_id, "typed on the page", "page")
        drafted = await peer.action("chat/draftChanged")
        assert drafted["action"]["draft"]["text"] == "typed on the page"
        assert "origin" not in drafted
        await host.world.prompt("from the page")
        await peer.action("chat/turnComplete")
        (turn,) = (await peer.subscribe(chat))["turns"]
        assert (turn["id"], turn["message"]["text"]) == ("t1", "from the page")
        changed = await peer.notification("root/sessionSummaryChanged")
        assert changed["session"] == f"fake:/{session_id}"


async def test_bad_input_is_refused_and_the_connection_goes_on(tmp_path: Path) -> None:
    async with agent_host(hello, tmp_path) as host:
        peer = host.peer()
        assert (await peer.ask("listSessions", channel=ROOT))["code"] == -32600
        refused = await peer.ask("initialize", channel=ROOT, protocolVersions=["7.0.0"], clientId="x")
        assert (refused["code"], refused["data"]) == (-32005, {"supportedVersions": ["1.0.0", "0.9.0"]})
        await peer.initialize()
        for frame in ("{", "[]", "7", '{"jsonrpc":"2.0","id":4}', '{"method":"dispatchAction","params":{}}'):
            await peer.send(frame)
        assert (await peer.ask("runAutomation", channel=ROOT))["code"] == -32601
        assert (await peer.ask("subscribe", channel="ahp-session:/nothing"))["code"] == -32001
        assert (await peer.ask("subscribe", channel="not an address"))["code"] == -32001
        assert (await peer.ask("subscribe"))["code"] == -32602
        await peer.create()
        assert (await peer.ask("subscribe", channel="ahp-terminal:/mine/none"))["code"] == -32008
        assert (await peer.ask("createSession", channel=SESSION))["code"] == -32003
        assert (await peer.ask("createSession", channel="ahp-chat:/new"))["code"] == -32602
        bad_mode = await peer.ask("createSession", channel="ahp-session:/new", config={"reviewMode": "yolo"})
        assert "direct, proposal, branch, worktree" in bad_mode["message"]
        assert (await peer.ask("resourceRead", channel=ROOT, uri="file:///etc/passwd"))["code"] == -32602
        assert (await peer.ask("listSessions", channel=ROOT, cursor="x"))["code"] == -32602
        await peer.dispatch(
            "chat/turnStarted", "ahp-chat:/nothing", turnId="1", startedAt="", message=message("x")
        )
        assert "Subscribe" in (await peer.action("chat/turnStarted"))["rejectionReason"]
        await peer.start_turn("  ")
        assert "empty" in (await peer.action("chat/turnStarted"))["rejectionReason"]
        await peer.dispatch("chat/truncated", turnId="1")
        assert (await peer.action("chat/truncated"))["rejectionReason"]
        assert await peer.ask("ping", channel=ROOT) is None
        assert (await turn_to_end(peer))["state"] == "complete"


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        (["1.0.0"], "1.0.0"),
        (["1.3.2", "1.0.0"], "1.3.2"),
        (["0.9.0", "0.8.0"], "0.9.0"),
        (["0.9.7", "2.0.0"], "0.9.7"),
        (["2.0.0", "0.10.0", "x", "1.0", "1.0.0.0", "-1.0.0"], None),
        ([], None),
    ],
)
def test_the_highest_compatible_version_is_chosen(offered: list[str], chosen: str | None) -> None:
    assert choose_version(offered) == chosen
