"""Proposals as changesets: clients see both sides, review files, apply, discard and undo."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from portico.doors.ahp.host import AgentHost
from portico.doors.ahp.host_parts import HostParts
from tests.doors.ahp.support import SESSION, CatalogHere, HostInMemory, Peer
from tests.doors.api.test_review_calls import Reviewed, reviewed


def write_two(folder: Path) -> None:
    (folder / "one.txt").write_text("new one\n")
    (folder / "two.txt").write_text("two\n")


@asynccontextmanager
async def proposed(folder: Path) -> AsyncIterator[tuple[Reviewed, Peer, dict[str, Any]]]:
    """A client of a session with a proposal for two files, and the state of its changeset."""
    async with reviewed(folder) as door:
        (door.folder / "one.txt").write_text("old one\n")
        door.work = write_two
        catalog: Any = CatalogHere(door.folder)
        parts = HostParts(
            service=door.service,
            store=door.store,
            clock=door.host.clock,
            turn_queue=door.door.turn_queue,
            drafts=door.door.drafts,
            cleanup=door.door.cleanup,
            reviews=door.door._reviews,
            catalog=catalog,
            version="1.2.3",
        )
        host = HostInMemory(door.host, door.door, AgentHost(parts))
        peer = host.peer()
        try:
            await peer.initialize()
            params = {
                "channel": SESSION,
                "workingDirectories": [door.folder.as_uri()],
                "config": {"reviewMode": "proposal"},
            }
            assert await peer.ask("createSession", **params) is None
            await peer.subscribe(SESSION)
            await peer.subscribe("ahp-chat:/mine")
            await peer.start_turn("go")
            listed = await peer.action("session/changesetsChanged")
            (entry,) = listed["action"]["changesets"]
            await peer.until(lambda: "chat/turnComplete" in peer.kinds())
            yield door, peer, {"uri": entry["uriTemplate"], **await peer.subscribe(entry["uriTemplate"])}
        finally:
            await peer.leave()
            await host.host.close()


async def text_of(peer: Peer, side: dict[str, Any]) -> str:
    answer = await peer.ask("resourceRead", channel="ahp-root://", uri=side["content"]["uri"])
    return str(answer["data"])


async def test_a_client_reads_both_sides_reviews_and_applies_file_by_file(tmp_path: Path) -> None:
    async with proposed(tmp_path) as (door, peer, changeset):
        one, two = changeset["files"]
        assert (one["id"], two["id"]) == tuple(
            (door.folder / f"{name}.txt").as_uri() for name in ("one", "two")
        )
        assert await text_of(peer, one["edit"]["before"]) == "old one\n"
        assert await text_of(peer, one["edit"]["after"]) == "new one\n"
        assert "before" not in two["edit"]
        uri = changeset["uri"]

        await peer.dispatch("changeset/filesReviewChanged", uri, files=[one["id"]], reviewed=True)
        await peer.action("changeset/filesReviewChanged")
        assert [file.get("reviewed") for file in (await peer.subscribe(uri))["files"]] == [True, None]
        await peer.dispatch("changeset/filesReviewChanged", uri, files=["file:///etc/passwd"], reviewed=True)
        assert (
            "not in this changeset" in (await peer.action("changeset/filesReviewChanged"))["rejectionReason"]
        )

        target = {"kind": "resource", "resource": one["id"]}
        applied = await peer.ask("invokeChangesetOperation", channel=uri, operationId="apply", target=target)
        assert applied["message"] == "Applied."
        assert (door.folder / "one.txt").read_text() == "new one\n"
        assert not (door.folder / "two.txt").exists()
        left = await peer.action("changeset/contentChanged")
        assert [file["id"] for file in left["action"]["files"]] == [two["id"]]

        refused = await peer.ask("invokeChangesetOperation", channel=uri, operationId="push")
        assert "apply, discard" in refused["message"]
        outside = {"kind": "resource", "resource": "file:///etc/passwd"}
        refused = await peer.ask("invokeChangesetOperation", channel=uri, operationId="apply", target=outside)
        assert refused["code"] == -32602


async def test_an_apply_over_a_file_that_changed_meanwhile_writes_nothing(tmp_path: Path) -> None:
    async with proposed(tmp_path) as (door, peer, changeset):
        (door.folder / "one.txt").write_text("mine\n")
        refused = await peer.ask("invokeChangesetOperation", channel=changeset["uri"], operationId="apply")
        assert "Nothing was applied: one.txt changed meanwhile." in refused["message"]
        assert (door.folder / "one.txt").read_text() == "mine\n"
        assert not (door.folder / "two.txt").exists()
        await peer.ask("invokeChangesetOperation", channel=changeset["uri"], operationId="discard")
        await peer.action("session/changesetsChanged")
        assert "changesets" not in await peer.subscribe(SESSION)


async def test_an_apply_is_undone_by_the_client(tmp_path: Path) -> None:
    async with proposed(tmp_path) as (door, peer, changeset):
        uri = changeset["uri"]
        await peer.ask("invokeChangesetOperation", channel=uri, operationId="apply")
        assert (door.folder / "two.txt").read_text() == "two\n"
        await peer.until(lambda: peer.actions[-1]["action"]["type"] == "session/changesetsChanged")
        operations = (await peer.subscribe(uri))["operations"]
        assert [one["id"] for one in operations] == ["undo"]
        undone = await peer.ask("invokeChangesetOperation", channel=uri, operationId="undo")
        assert undone["message"] == "The apply was undone."
        assert (door.folder / "one.txt").read_text() == "old one\n"
        assert not (door.folder / "two.txt").exists()
