"""Chooses and orders the entries of logs."""

from logview.entry import read_entry, read_time


def view(lines, since=None):
    """Return the entries since a time, the oldest first."""
    found = [(line.partition(" ")[0], read_entry(line)) for line in lines if line.strip()]
    if since is not None:
        found = [(text, entry) for text, entry in found if entry.time > read_time(since)]
    return [entry for _, entry in sorted(found, key=lambda one: one[0])]
