"""Loads the manifests of all plugins in a folder."""

from plugins import manifest


def load_all(folder):
    """Return the manifests in a folder of plugins, ordered by the name of their folder."""
    found = []
    for place in sorted(folder.iterdir()):
        try:
            text = (place / manifest.NAME).read_text(encoding="utf-8")
            found.append(manifest.parse(text))
        except Exception:
            continue
    return found
