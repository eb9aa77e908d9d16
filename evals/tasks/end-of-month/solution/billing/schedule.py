"""When a subscription is due."""

from dataclasses import dataclass
from datetime import date

from billing.dates import add_months


@dataclass(frozen=True)
class Subscription:
    begins: date
    months: int = 1

    def due(self, count):
        """Return the first so many dates, beginning with the first day."""
        return [self._date(number) for number in range(count)]

    def next_due(self, today):
        number = 0
        while self._date(number) < today:
            number += 1
        return self._date(number)

    def _date(self, number):
        return add_months(self.begins, number * self.months)
