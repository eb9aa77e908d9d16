"""Which update is offered."""

from updates.version import parse


def offer(installed, available, *, prereleases=False):
    """Return the newest version that is newer than the installed one, as text, or None."""
    current = parse(installed)
    newer = [version for version in map(parse, available) if version > current]
    return str(max(newer)) if newer else None
