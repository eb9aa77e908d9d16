"""Store of proposals in the state folder: one record each, with its contents in packs beside it.

A record is replaced by one rename, after the contents that it refers to are on the disk. So a record is
always complete, and packs that no record refers to are removed with the next write.
"""

import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

import msgspec

from portico.domain import codecs
from portico.domain.errors import InvalidInput, StoreFailed
from portico.domain.reviews import ProposalOrigin, ProposalStatus
from portico.files.locks import locked
from portico.files.private import make_private_folder
from portico.review.files.disk import Disk
from portico.review.proposals.marks import FileMark
from portico.review.session_records import file_name
from portico.review.text.change_set import ChangeSet, FileContent, digest_of

_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")
_EMPTY = digest_of(b"")


class AppliedPart(msgspec.Struct, frozen=True, kw_only=True):
    """Changes that were applied at once, and their undo."""

    changes: ChangeSet
    undo: ChangeSet


class PendingSync(msgspec.Struct, frozen=True, kw_only=True):
    """Decision that the working copy does not have yet. An undo is applied like any change."""

    applied: ChangeSet = ChangeSet()
    discarded: ChangeSet = ChangeSet()


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """Changes that a person may apply. `changes` are those that are left, without their bytes.

    Paths are relative to the workspace. Each apply, discard or new turn counts the revision up. The `source`
    of one that comes back from a restore is the checkpoint that holds it.
    """

    id: str
    session: str
    workspace: str
    origin: ProposalOrigin
    revision: int
    status: ProposalStatus
    at_ms: int
    changes: ChangeSet
    marks: dict[str, FileMark]
    applies: tuple[AppliedPart, ...] = ()
    unsettled: tuple[PendingSync, ...] = ()
    source: str | None = None

    @property
    def denied(self) -> frozenset[str]:
        return frozenset(path for path, each in self.marks.items() if each.denied)

    @property
    def can_undo(self) -> bool:
        return bool(self.applies)


class _Place(msgspec.Struct, frozen=True, array_like=True):
    pack: str
    offset: int
    size: int


class ProposalRecord(msgspec.Struct, frozen=True):
    """A proposal as it is kept, and where its contents are."""

    proposal: Proposal
    places: dict[str, _Place]


class ProposalStore:
    """Proposals of all sessions. To read or write those of a session, hold its lock."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._disk = Disk()
        # A decision reads the same record many times, and a large one takes long to decode.
        self._decoded: tuple[bytes, ProposalRecord] | None = None

    @contextmanager
    def held(self, session: str) -> Iterator[Path]:
        """Lock the proposals of a session."""
        folder = self._folder / file_name(session)
        make_private_folder(folder)
        with locked(folder / "lock"):
            yield folder

    def place(self, session: str, proposal_id: str) -> Path:
        return self._folder / file_name(session) / f"{proposal_id}.json"

    def replay_mark(self, session: str) -> Path:
        """File that exists while the working copy of a session lacks its proposal."""
        return self._folder / file_name(session) / "replay"

    def session_of(self, proposal_id: str) -> str:
        """The session that a proposal belongs to."""
        found = list(self._folder.glob(f"*/{proposal_id}.json")) if _SAFE.fullmatch(proposal_id) else []
        if not found:
            raise InvalidInput(
                f"There is no proposal {proposal_id}.",
                suggestion="List the proposals of the session; old ones are removed after a while.",
            )
        return self._decode(found[0]).proposal.session

    def load(self, session: str, proposal_id: str) -> ProposalRecord:
        return self._decode(self.place(session, proposal_id))

    def records(self, session: str) -> list[ProposalRecord]:
        """Oldest first."""
        folder = self._folder / file_name(session)
        return [self._decode(path) for path in sorted(folder.glob("*.json"))]

    def encoded(self, proposal: Proposal, known: Mapping[str, _Place]) -> bytes:
        """Encoded record of a proposal whose new contents are loaded; `known` contents are on disk already."""
        wanted = _contents(proposal)
        places = {digest: place for digest, place in known.items() if digest in wanted}
        fresh = {digest: data for digest, data in wanted.items() if digest not in places}
        name = f"{proposal.id}.{secrets.token_hex(4)}.pack"
        pieces: list[bytes] = []
        offset = 0
        for digest, data in fresh.items():
            if data is None:
                raise StoreFailed(f"Content of the proposal {proposal.id} is missing.")
            places[digest] = _Place(name, offset, len(data))
            pieces.append(data)
            offset += len(data)
        if offset:
            pack = self.place(proposal.session, proposal.id).with_name(name)
            self._disk.write_new(pack, b"".join(pieces), 0o600)
            self._disk.sync_folder(pack.parent)
        return msgspec.json.encode(ProposalRecord(_bare(proposal), places))

    def write(self, proposal: Proposal, known: Mapping[str, _Place]) -> Proposal:
        """Store a proposal, replacing its earlier record."""
        place = self.place(proposal.session, proposal.id)
        beside = place.with_suffix(".new")
        try:
            record = self.encoded(proposal, known)
            self._disk.remove(beside)
            self._disk.write_new(beside, record, 0o600)
            self._disk.rename(beside, place)
            self._disk.sync_folder(place.parent)
        except OSError as error:
            raise StoreFailed(
                f"The proposal could not be kept ({error.strerror or error}).",
                suggestion="Free some space if the disk is full, and try again.",
            ) from error
        self.sweep(proposal.session, proposal.id)
        return _bare(proposal)

    def sweep(self, session: str, proposal_id: str) -> None:
        """Remove packs that the record does not refer to."""
        place = self.place(session, proposal_id)
        spoken_of = {each.pack for each in self._decode(place).places.values()} if place.exists() else set()
        for pack in place.parent.glob(f"{proposal_id}.*.pack"):
            if pack.name not in spoken_of:
                pack.unlink(missing_ok=True)

    @contextmanager
    def reader(self, record: ProposalRecord) -> Iterator[Callable[[str], bytes]]:
        """Reader of the contents of a record by digest, which keeps its packs open."""
        folder = self.place(record.proposal.session, record.proposal.id).parent
        packs: dict[str, BinaryIO] = {}

        def read(digest: str) -> bytes:
            place = record.places.get(digest)
            if digest == _EMPTY:
                return b""
            try:
                if place is None:
                    raise FileNotFoundError(2, "No such content", digest)
                file = packs.get(place.pack)
                if file is None:
                    file = packs[place.pack] = opened.enter_context((folder / place.pack).open("rb"))
                file.seek(place.offset)
                data = file.read(place.size)
            except OSError as error:
                raise StoreFailed(f"A content of a proposal is gone ({error.strerror}).") from error
            if digest_of(data) != digest:
                raise StoreFailed("A content of a proposal is damaged on the disk.")
            return data

        with ExitStack() as opened:
            yield read

    def forget(self, session: str, proposal_id: str) -> None:
        self.place(session, proposal_id).unlink(missing_ok=True)
        self.sweep(session, proposal_id)

    def forget_session(self, session: str) -> None:
        with self.held(session) as folder:
            shutil.rmtree(folder, ignore_errors=True)

    def _decode(self, path: Path) -> ProposalRecord:
        try:
            data = path.read_bytes()
            known = self._decoded
            if known is None or known[0] != data:
                known = self._decoded = data, codecs.decode_json(data, ProposalRecord)
            return known[1]
        except FileNotFoundError as error:
            raise InvalidInput(f"There is no proposal {path.stem} any more.") from error
        except (OSError, msgspec.DecodeError) as error:
            raise StoreFailed(
                f"A proposal cannot be read from {path}: {error}.",
                suggestion="Move that file away; the files of the workspace are not concerned.",
            ) from error


def _change_sets(proposal: Proposal) -> Iterator[ChangeSet]:
    yield proposal.changes
    for apply in proposal.applies:
        yield from (apply.changes, apply.undo)
    for pending in proposal.unsettled:
        yield from (pending.applied, pending.discarded)


def _contents(proposal: Proposal) -> dict[str, bytes | None]:
    found: dict[str, bytes | None] = {}
    for changes in _change_sets(proposal):
        for change in changes.changes:
            for content in (change.old, change.new):
                if content is not None and content.digest != _EMPTY and found.get(content.digest) is None:
                    found[content.digest] = content.data
    return found


def bare(changes: ChangeSet) -> ChangeSet:
    """The change set without the bytes of its contents."""

    def strip(content: FileContent | None) -> FileContent | None:
        return None if content is None else FileContent(content.digest, content.size)

    return msgspec.structs.replace(
        changes,
        changes=tuple(
            msgspec.structs.replace(one, old=strip(one.old), new=strip(one.new), conflicts=())
            for one in changes.changes
        ),
    )


def _bare(proposal: Proposal) -> Proposal:
    return msgspec.structs.replace(
        proposal,
        changes=bare(proposal.changes),
        applies=tuple(
            AppliedPart(changes=bare(one.changes), undo=bare(one.undo)) for one in proposal.applies
        ),
        unsettled=tuple(
            PendingSync(applied=bare(one.applied), discarded=bare(one.discarded))
            for one in proposal.unsettled
        ),
    )
