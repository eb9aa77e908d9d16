"""Adds the values of a file to an environment."""

from envfile.parse import parse


def load(path, environ, *, override=False):
    """Return the names that were set. What is there already stays, unless it is overridden."""
    values = parse(path.read_text(encoding="utf-8"))
    chosen = {name: value for name, value in values.items() if override or name not in environ}
    environ.update(chosen)
    return sorted(chosen)
