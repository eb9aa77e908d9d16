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
        dates = [self.begins]
        while len(dates) < count:
            dates.append(add_months(dates[-1], self.months))
        return dates

    def next_due(self, today):
        day = self.begins
        while day < today:
            day = add_months(day, self.months)
        return day
