"""Files whose content is nobody's business but the person's: keys and environments."""

import unicodedata
from fnmatch import fnmatchcase
from pathlib import PurePath

_PRIVATE_NAMES = (
    ".env",
    ".env.*",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
)
_PUBLIC_NAMES = (".env.example", ".env.sample", ".env.template")
_PRIVATE_FOLDERS = {".ssh"}


def is_private(path: PurePath) -> bool:
    names = [_plain(part) for part in path.parts]
    if not names:
        return False
    if _PRIVATE_FOLDERS.intersection(names):
        return True
    name = names[-1]
    return name not in _PUBLIC_NAMES and any(fnmatchcase(name, pattern) for pattern in _PRIVATE_NAMES)


def _plain(name: str) -> str:
    """A name as forgiving file systems see it: case, invisible characters, streams, trailing dots."""
    visible = "".join(character for character in name if unicodedata.category(character) != "Cf")
    return visible.casefold().partition(":")[0].rstrip(". ") or visible
