"""Folders that cannot be written now and can be later: what was proposed stays."""

import os
from pathlib import Path

import pytest

from portico.domain.errors import PermissionDenied
from portico.review.files.atomic_apply import Applier
from portico.review.proposals.lifecycle import Proposals
from portico.review.text.change_set import ChangeSet
from portico.testing.clock import ManualClock
from tests.review.folders import change, fill


def test_what_is_proposed_for_a_read_only_folder_is_applied_once_it_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    fill(work, {"locked/a": (b"a\n", 0o644), "b": (b"b\n", 0o644)})
    proposals = Proposals(tmp_path / "proposals", Applier(tmp_path / "applies"), ManualClock())
    changes = ChangeSet((change("locked/a", b"a\n", b"A\n"), change("b", b"b\n", b"B\n")))
    writable = os.access
    with monkeypatch.context() as patched:  # Nothing is read-only to the superuser, who may run this.
        patched.setattr(os, "access", lambda path, mode: Path(path).name != "locked" and writable(path, mode))
        proposal = proposals.put("s", work, changes, "turn")
        assert proposal is not None
        told = {file.path: file for file in proposals.payload(proposal.id).files}
        assert "is read-only" in (told["locked/a"].warning or "")
        assert not told["locked/a"].denied
        with pytest.raises(PermissionDenied, match="read-only") as refused:
            proposals.apply(proposal.id, proposal.revision)
        assert "writable" in (refused.value.suggestion or "")
        assert (work / "b").read_bytes() == b"b\n"
    decided = proposals.apply(proposal.id, proposal.revision)
    assert (decided.proposal.status, decided.refused) == ("applied", ())
    assert (work / "locked" / "a").read_bytes() == b"A\n"
