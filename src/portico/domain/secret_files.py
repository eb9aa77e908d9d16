"""Files that hold secrets, recognised by name; agents may neither read nor write them."""

import re
import unicodedata
from collections.abc import Iterable, Sequence

_ENVIRONMENTS = re.compile(
    r"\.envrc(?:\..+)?|\.env(?:\..+)?|.+\.env(?:\.(?:local|dev|development|prod|production|test))?"
)
_EXAMPLES = frozenset({"example", "examples", "sample", "template", "tmpl", "dist", "schema"})
_NAMES = frozenset(
    {
        ".git-credentials",
        ".htpasswd",
        ".netrc",
        "_netrc",
        ".npmrc",
        ".pgpass",
        "pgpass.conf",
        ".pypirc",
        ".my.cnf",
    }
    | {".mylogin.cnf", ".s3cfg", ".boto", ".dockercfg", ".databrickscfg", ".terraformrc", "terraform.rc"}
    | {"credentials.tfrc.json", "kubeconfig", "vault_pass", ".vault-token", ".secrets"}
)
_ENDINGS = (
    ".pem", ".key", ".p12", ".pfx", ".p8", ".pkcs8", ".pkcs12", ".ppk", ".jks", ".jceks", ".bcfks", ".kdbx",
    ".keystore", ".ovpn", ".kubeconfig", ".tfstate",
)  # fmt: skip
_BEGINNINGS = (
    "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_xmss", ".vault_pass", ".vault-pass", ".secrets.",
)  # fmt: skip
_WORDS = re.compile(
    r"credentials\.(?:json|ya?ml|toml|ini|csv|xml|db)|secrets\.(?:json|ya?ml|toml|ini)|vault[-_]pass\.txt"
    r"|.*[-_]credentials\.json|service[-_]?account.*\.json|.*-service-account\.json|.*firebase-adminsdk.*\.json"
    r"|client[-_]secret.*\.json|.*\.tfstate\.backup"
)
_WORD_ENDINGS = (".json", ".yml", ".yaml", ".toml", ".ini", ".csv", ".xml", ".db", ".txt", ".backup")
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
    (".gradle", "gradle.properties"),
    (".kube", "config"),
    (".m2", "settings.xml"),
    (".m2", "settings-security.xml"),
    (".oci", "config"),
}
# What editors and people leave beside a file: copies, backups, swap files.
_COPY_ENDINGS = frozenset(
    {"bak", "backup", "old", "orig", "save", "saved", "copy", "tmp", "swp", "swo", "swn"}
)
_COPY = re.compile(rf"(?:~|\.(?:{'|'.join(_COPY_ENDINGS)}|\d+))+$|^\.#")
_CREDENTIAL = re.compile(
    r"://[^/\s:@]+:[^/\s@]+@|^\s*(?:extraheader\s*=\s*\S*authorization|password\s*=|oauthtoken\s*=)",
    re.IGNORECASE | re.MULTILINE,
)


def is_private(parts: Iterable[str]) -> bool:
    """Whether the parts of a path name a file of secrets, or lead through a folder of them."""
    names = [plain_name(part) for part in parts]
    if not names or _PRIVATE_FOLDERS.intersection(names):
        return bool(names)
    folder = names[-2] if len(names) > 1 else ""
    if _is_private_name(folder, names[-1]):
        return True
    last = names[-1].rpartition(".")[2]
    if (
        last not in _COPY_ENDINGS
        and not last.isdigit()
        and not last.endswith(("~", "#"))
        and names[-1][:2] != ".#"
    ):
        return False
    original = _COPY.sub("", names[-1].strip("#"))
    # The swap file of a file begins with a dot.
    return any(_is_private_name(folder, name) for name in (original, original.removeprefix(".")))


def holds_credential(parts: Sequence[str], text: str) -> bool:
    """Whether the text of a file is git's configuration with a password or token in it."""
    names = [plain_name(part) for part in parts]
    is_git = names[-1:] == [".gitconfig"] or (".git" in names and names[-1].startswith("config"))
    return is_git and _CREDENTIAL.search(text) is not None


def plain_name(name: str) -> str:
    """A name as forgiving file systems see it: case, invisible characters, streams, trailing dots."""
    visible = name
    if not name.isascii():  # Most are, and then no character is invisible.
        visible = "".join(character for character in name if unicodedata.category(character) != "Cf")
    return visible.casefold().partition(":")[0].rstrip(". ") or visible


def _is_private_name(folder: str, name: str) -> bool:
    # Every file of a folder comes through here, so what is cheap comes first.
    if (
        name in _NAMES
        or (folder, name) in _PRIVATE_PAIRS
        or name.endswith(_ENDINGS)
        or name.startswith(_BEGINNINGS)
    ):
        return True
    if ".env" in name and _ENVIRONMENTS.fullmatch(name) is not None:
        return name.removesuffix(".env").rpartition(".")[2] not in _EXAMPLES
    return name.endswith(_WORD_ENDINGS) and _WORDS.fullmatch(name) is not None
