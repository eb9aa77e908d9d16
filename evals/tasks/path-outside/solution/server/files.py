"""Files of a public folder."""

from urllib.parse import unquote


def locate(public, name):
    """Return the file that a request names, or None if there is no such file in the folder."""
    folder = public.resolve()
    path = (folder / unquote(name)).resolve()
    return path if path.is_relative_to(folder) and path.is_file() else None
