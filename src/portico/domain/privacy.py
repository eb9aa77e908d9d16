"""Which files hold secrets, by their names: no agent reads or writes them."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from fnmatch import translate

_ENVIRONMENTS = re.compile(
    r"\.envrc(?:\..+)?|\.env(?:\..+)?|.+\.env(?:\.(?:local|dev|development|prod|production|test))?"
)
_EXAMPLES = frozenset({"example", "examples", "sample", "template", "tmpl", "dist", "schema"})
_PRIVATE_NAMES = (
    # Keys
    "*.pem", "*.key", "*.p12", "*.pfx", "*.p8", "*.pkcs8", "*.pkcs12", "*.ppk",
    "*.jks", "*.jceks", "*.bcfks", "*.kdbx", "*.keystore", "*.ovpn",
    "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "id_xmss*",
    # Passwords and tokens of tools
    ".git-credentials", ".htpasswd", ".netrc", "_netrc", ".npmrc", ".pgpass", "pgpass.conf", ".pypirc",
    ".my.cnf", ".mylogin.cnf", ".s3cfg", ".boto", ".dockercfg", ".databrickscfg", ".terraformrc", "terraform.rc",
    "credentials.tfrc.json", "kubeconfig", "*.kubeconfig",
    ".vault_pass*", ".vault-pass*", "vault_pass", "vault_pass.txt", "vault-pass.txt", ".vault-token",
    # What clouds and deployments hand out
    "credentials.json", "credentials.y*ml", "credentials.toml", "credentials.ini", "credentials.csv",
    "credentials.xml", "credentials.db", "*-credentials.json", "*_credentials.json",
    "service-account*.json", "service_account*.json", "serviceaccount*.json", "*-service-account.json",
    "*firebase-adminsdk*.json", "client_secret*.json", "client-secret*.json",
    "secrets.json", "secrets.y*ml", "secrets.toml", "secrets.ini", ".secrets", ".secrets.*",
    "*.tfstate", "*.tfstate.*",
)  # fmt: skip
_PRIVATE_NAME = re.compile("|".join(map(translate, _PRIVATE_NAMES)))
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
_COPY = re.compile(r"(?:~|\.(?:bak|backup|old|orig|save|saved|copy|tmp|sw[a-p]|\d{1,3}))+$|^#.*#$|^\.#")
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
    if _COPY.search(names[-1]) is None:
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
    if (folder, name) in _PRIVATE_PAIRS or _PRIVATE_NAME.match(name) is not None:
        return True
    last = name.removesuffix(".env").rpartition(".")[2]
    return _ENVIRONMENTS.fullmatch(name) is not None and last not in _EXAMPLES
