"""Loads the manifests of all plugins in a folder."""

from plugins import manifest


def load_all(folder):
    """Return the manifests in a folder of plugins, ordered by the name of their folder."""
    found = []
    for place in sorted(folder.iterdir()):
        file = place / manifest.NAME
        if not file.is_file():
            continue
        try:
            found.append(manifest.parse(file.read_text(encoding="utf-8")))
        except manifest.ManifestError as error:
            raise manifest.ManifestError(f"{place.name}: {error}") from error
    return found
