"""Files of a public folder."""

from urllib.parse import unquote


def locate(public, name):
    """Return the file that a request names, or None if there is no such file."""
    path = public / unquote(name)
    return path if path.is_file() else None
