"""Dates of a calendar."""

from calendar import monthrange


def add_months(day, months):
    """Return the same day so many months later, or the last day of a month that is too short."""
    count = day.year * 12 + day.month - 1 + months
    year, month = count // 12, count % 12 + 1
    return day.replace(year=year, month=month, day=min(day.day, monthrange(year, month)[1]))
