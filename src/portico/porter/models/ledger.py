"""Totals of tokens and dollars spent, and the daily ledger shared by all Porters of a user."""

import logging
import os
from collections.abc import Callable, Mapping
from datetime import date, datetime
from pathlib import Path

import msgspec

from portico.config.paths import state_folder
from portico.domain import codecs
from portico.files.locks import locked
from portico.files.private import make_private_folder
from portico.porter.models.model import ModelUsage

log = logging.getLogger(__name__)


class SpentTotal(msgspec.Struct, frozen=True):
    """Input and output tokens together, and dollars as far as prices are known."""

    tokens: int = 0
    dollars: float = 0.0

    def plus(self, usage: ModelUsage) -> "SpentTotal":
        return SpentTotal(self.tokens + usage.input + usage.output, self.dollars + (usage.cost_usd or 0.0))


class _Day(msgspec.Struct, frozen=True):
    day: str
    spent: SpentTotal


def local_day() -> date:
    """Return today's date in the local time zone."""
    return datetime.now().astimezone().date()


class DayLedger:
    """Today's total, in one small file that processes can update concurrently and atomically."""

    def __init__(self, path: Path, today: Callable[[], date] = local_day) -> None:
        self._path = path
        self._today = today

    def add(self, usage: ModelUsage) -> SpentTotal:
        """Add to today's total and return it."""
        make_private_folder(self._path.parent)
        with locked(self._path.with_suffix(".lock")):
            spent = self.spent().plus(usage)
            fresh = self._path.with_suffix(".new")
            descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(msgspec.json.encode(_Day(self._today().isoformat(), spent)))
            fresh.replace(self._path)
        return spent

    def spent(self) -> SpentTotal:
        try:
            kept = codecs.decode_json(self._path.read_bytes(), _Day)
        except FileNotFoundError:
            return SpentTotal()
        except (OSError, msgspec.DecodeError) as error:
            log.warning("cannot read today's spending, starting from zero: %s", error)
            return SpentTotal()
        return kept.spent if kept.day == self._today().isoformat() else SpentTotal()


def day_ledger(environ: Mapping[str, str]) -> DayLedger:
    return DayLedger(state_folder(environ) / "spending.json")
