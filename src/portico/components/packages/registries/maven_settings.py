"""Repositories, mirrors, logins and the local repository as the user's Maven settings have them."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from portico.components.packages.registries.http_source import HttpSettings
from portico.components.packages.versions.xml_document import XmlElement, child_text, read_xml
from portico.files.regular import read_regular

_CENTRAL = ("central", "https://repo.maven.apache.org/maven2")
_LARGEST = 4 * 1024 * 1024
_ENVIRONMENT = re.compile(r"\$\{env\.([^}]+)\}")


class MavenSettings(msgspec.Struct, frozen=True):
    """`repositories` are addresses, in the order in which they are asked."""

    repositories: tuple[str, ...]
    local_repository: Path
    http: HttpSettings


def read_maven_settings(environ: Mapping[str, str]) -> MavenSettings:
    """The settings that Maven would use for this user. Blocks."""
    home = Path(environ.get("HOME") or environ.get("USERPROFILE") or Path.home())
    settings = _settings(home / ".m2" / "settings.xml", environ)
    local = child_text(settings, "localRepository").replace("${user.home}", str(home))
    named = [*_profile_repositories(settings), _CENTRAL]
    reached = list(dict.fromkeys(_mirrored(settings, one) for one in named))
    return MavenSettings(
        tuple(address.rstrip("/") for _, address in reached),
        Path(local) if local else home / ".m2" / "repository",
        HttpSettings(environ=environ, proxies=_proxies(settings), logins=_logins(settings, reached)),
    )


def _settings(path: Path, environ: Mapping[str, str]) -> XmlElement:
    try:
        text = read_regular(path, limit=_LARGEST).decode(errors="replace")
    except OSError:
        text = ""
    text = _ENVIRONMENT.sub(lambda found: environ.get(found[1], found[0]), text)
    found = read_xml(text) if text else None
    return XmlElement("settings") if found is None else found


def _profile_repositories(settings: XmlElement) -> Iterator[tuple[str, str]]:
    active = {(one.text or "").strip() for one in settings.iterfind("activeProfiles/activeProfile")}
    for profile in settings.iterfind("profiles/profile"):
        by_default = child_text(profile, "activation/activeByDefault") == "true"
        if by_default or child_text(profile, "id") in active:
            for one in profile.iterfind("repositories/repository"):
                yield child_text(one, "id"), child_text(one, "url")


def _mirrored(settings: XmlElement, repository: tuple[str, str]) -> tuple[str, str]:
    for mirror in settings.iterfind("mirrors/mirror"):
        if _is_mirror_of(child_text(mirror, "mirrorOf"), repository):
            return child_text(mirror, "id"), child_text(mirror, "url")
    return repository


def _is_mirror_of(pattern: str, repository: tuple[str, str]) -> bool:
    name, address = repository
    patterns = [one.strip() for one in pattern.split(",")]
    local = urlsplit(address).scheme == "file" or urlsplit(address).hostname in ("localhost", "127.0.0.1")
    if f"!{name}" in patterns:
        return False
    return name in patterns or "*" in patterns or ("external:*" in patterns and not local)


def _logins(settings: XmlElement, repositories: list[tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """Logins by host. One that Maven has encrypted is of no use to us: its key is not in the settings."""
    hosts = {name: urlsplit(address).hostname for name, address in repositories}
    found = {}
    for server in settings.iterfind("servers/server"):
        host, password = hosts.get(child_text(server, "id")), child_text(server, "password")
        if host and password and not (password.startswith("{") and password.endswith("}")):
            found[host] = child_text(server, "username"), password
    return found


def _proxies(settings: XmlElement) -> dict[str, str] | None:
    for proxy in settings.iterfind("proxies/proxy"):
        if child_text(proxy, "active") != "false" and child_text(proxy, "host"):
            address = f"http://{child_text(proxy, 'host')}:{child_text(proxy, 'port') or '8080'}"
            return {"http": address, "https": address}
    return None
