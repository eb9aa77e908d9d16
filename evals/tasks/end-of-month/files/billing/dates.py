"""Dates of a calendar."""


def add_months(day, months):
    """Return the same day so many months later."""
    count = day.year * 12 + day.month - 1 + months
    return day.replace(year=count // 12, month=count % 12 + 1)
