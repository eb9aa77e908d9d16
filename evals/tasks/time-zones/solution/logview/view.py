"""Chooses and orders the entries of logs."""

from logview.entry import read_entry, read_time


def view(lines, since=None):
    """Return the entries since a time, the oldest first."""
    found = [read_entry(line) for line in lines if line.strip()]
    if since is not None:
        found = [entry for entry in found if entry.time >= read_time(since)]
    return sorted(found, key=lambda entry: entry.time)
