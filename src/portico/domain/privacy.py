"""Which files hold secrets, by their names: no agent reads or writes them."""

import re
import unicodedata
from collections.abc import Iterable
from fnmatch import translate

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
    "*.jks",
    "*.kdbx",
    "*.keystore",
    "*.ppk",
    ".git-credentials",
    ".htpasswd",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pgpass",
    ".pypirc",
)
_PRIVATE_NAME = re.compile("|".join(map(translate, _PRIVATE_NAMES)))
_PUBLIC_NAMES = (".env.example", ".env.sample", ".env.template")
_PRIVATE_FOLDERS = {".gnupg", ".ssh"}
# Names that mean a secret only where a program looks for it.
_PRIVATE_PAIRS = {
    (".aws", "config"),
    (".aws", "credentials"),
    (".azure", "accesstokens.json"),
    (".azure", "msal_token_cache.json"),
    (".cargo", "credentials"),
    (".cargo", "credentials.toml"),
    (".docker", "config.json"),
    ("gcloud", "application_default_credentials.json"),
    ("gcloud", "credentials.db"),
    (".gem", "credentials"),
    ("gh", "hosts.yml"),
    (".kube", "config"),
}


def is_private(parts: Iterable[str]) -> bool:
    """Whether the parts of a path name a file of secrets, or lead through a folder of them."""
    names = [plain_name(part) for part in parts]
    if not names or _PRIVATE_FOLDERS.intersection(names):
        return bool(names)
    name = names[-1]
    if tuple(names[-2:]) in _PRIVATE_PAIRS:
        return True
    return name not in _PUBLIC_NAMES and _PRIVATE_NAME.match(name) is not None


def plain_name(name: str) -> str:
    """A name as forgiving file systems see it: case, invisible characters, streams, trailing dots."""
    visible = name
    if not name.isascii():  # Most are, and then no character is invisible.
        visible = "".join(character for character in name if unicodedata.category(character) != "Cf")
    return visible.casefold().partition(":")[0].rstrip(". ") or visible
