"""PyPI, or the indexes in pip's configuration, read over HTTP.

pip itself is not used: to download an sdist it runs the build of the package, only to learn its metadata. A wheel
without compiled parts is preferred, because it has the files as they are imported; else the sdist.
"""

import asyncio
import configparser
import sys
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import msgspec

from portico.components.packages.archives.unpack import DEFAULT_LIMITS
from portico.components.packages.cache import PackageArchive, check_checksums
from portico.components.packages.errors import PackageNotFound, PackageRefused
from portico.components.packages.package import PackageName, normalize_python
from portico.components.packages.registries.archive_file import PackageQuery
from portico.components.packages.registries.http_source import HttpSettings, HttpSource, without_login
from portico.components.packages.versions.python_version import parse_python_version, satisfies
from portico.domain import codecs

_ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
_LARGEST_INDEX = 64 * 1024 * 1024
_SDIST_ENDINGS = (".tar.gz", ".zip")


_DEFAULT_INDEX = "https://pypi.org/simple"


class PipSettings(msgspec.Struct, frozen=True):
    """`indexes` are addresses of simple indexes, the main one first."""

    indexes: tuple[str, ...]
    http: HttpSettings


class IndexedArchive(msgspec.Struct, frozen=True, kw_only=True):
    """One archive in a simple index."""

    filename: str
    url: str
    version: str
    checksum: str = ""
    yanked: str = ""


class PypiRegistry:
    def find_local(self, query: PackageQuery, environ: Mapping[str, str]) -> PackageArchive | None:
        return None  # Installed packages are read in place; pip's cache has no names in it.

    async def fetch(self, query: PackageQuery, folder: Path, environ: Mapping[str, str]) -> PackageArchive:
        settings = await asyncio.to_thread(read_pip_settings, environ)
        source = HttpSource(settings.http)
        asked = f"{query.name} {query.version}".strip()
        known = False
        for index in settings.indexes:
            files = await _index_files(source, index, query.name)
            known = known or bool(files)
            chosen = choose_file(files, query.version)
            if chosen is None:
                continue
            path = folder / Path(chosen.filename).name
            if not await source.download(chosen.url, path, limit=DEFAULT_LIMITS.archive_bytes):
                raise PackageNotFound(f"The index lists {chosen.filename}, but does not have it.")
            checksum = (chosen.checksum,) if chosen.checksum else ()
            verified = check_checksums(path, checksum, "the index")
            locked = _locked(query, chosen, files)
            return PackageArchive(
                name=query.name,
                version=chosen.version,
                path=path,
                source=f"the {'wheel' if path.suffix == '.whl' else 'sdist'} at {urlsplit(index).hostname or index}",
                folder_depth=0 if path.suffix == ".whl" else 1,
                verified=check_checksums(path, locked, query.origin) or verified,
                yanked=chosen.yanked,
            )
        raise PackageNotFound(
            f"There is no {'version' if known else 'package'} {asked} in pip's indexes, or it has no sources.",
            suggestion="Check the name, or leave out the version.",
        )


def _locked(query: PackageQuery, chosen: IndexedArchive, files: list[IndexedArchive]) -> tuple[str, ...]:
    """The lockfile's checksums, if they cover the chosen archive: a lockfile may list only some of them."""
    listed = {one.checksum for one in files if one.version == chosen.version}
    if query.checksums and not set(query.checksums) & listed:
        raise PackageRefused(
            f"The index has other archives of {query.name} {chosen.version} than {query.origin} names.",
            suggestion="Nothing was kept. Tell the person: the index, the mirror or the lockfile is wrong.",
        )
    return query.checksums if chosen.checksum in query.checksums else ()


async def _index_files(source: HttpSource, index: str, name: PackageName) -> list[IndexedArchive]:
    address = f"{index}/{name.name}/"
    if address.startswith("file:"):
        address += "index.html"
    document = await source.read(address, limit=_LARGEST_INDEX, accept=_ACCEPT)
    if document is None:
        return []
    data, content_type = document
    rows = _json_rows(data) if "json" in content_type else _html_rows(data.decode(errors="replace"))
    found = []
    for link, checksum, yanked in rows:
        url = urljoin(without_login(address), link)
        filename = unquote(urlsplit(url).path.rpartition("/")[2])
        version = _version_of(filename, name)
        # An index on the web must not point to files of this machine.
        if version and (urlsplit(url).scheme == "file") is address.startswith("file:"):
            login = urlsplit(address).netloc.rpartition("@")[0]
            if login and urlsplit(url).netloc == urlsplit(without_login(address)).netloc:
                url = url.replace("://", f"://{login}@", 1)
            found.append(
                IndexedArchive(filename=filename, url=url, version=version, checksum=checksum, yanked=yanked)
            )
    return found


def choose_file(files: list[IndexedArchive], wanted: str) -> IndexedArchive | None:
    """The best archive of the newest version in the range. A yanked one only if it is asked for exactly."""
    exact = parse_python_version(wanted) is not None or wanted.startswith("===")
    fitting = [one for one in files if satisfies(one.version, wanted) and (exact or not one.yanked)]
    final = [one for one in fitting if (found := parse_python_version(one.version)) and found.is_final]
    candidates = fitting if exact else final or fitting
    if not candidates:
        return None
    newest = max(_order(one) for one in candidates)
    return min((one for one in candidates if _order(one) == newest), key=_preference)


def _order(file: IndexedArchive) -> Any:
    return parse_python_version(file.version)


def _preference(file: IndexedArchive) -> tuple[int, str]:
    if file.filename.endswith("-none-any.whl"):
        return 0, file.filename
    return (1 if file.filename.endswith(_SDIST_ENDINGS) else 2), file.filename


def _version_of(filename: str, name: PackageName) -> str:
    """The version in the name of an archive that we can unpack; nothing for others."""
    if filename.endswith(".whl"):
        parts = filename.split("-")
        own = len(parts) in (5, 6) and normalize_python(parts[0]) == name.name
        return parts[1] if own and parse_python_version(parts[1]) else ""
    ending = next((one for one in _SDIST_ENDINGS if filename.endswith(one)), None)
    if ending is None:
        return ""
    stem = filename.removesuffix(ending)
    for place in (index for index, letter in enumerate(stem) if letter == "-"):
        if normalize_python(stem[:place]) == name.name and parse_python_version(stem[place + 1 :]):
            return stem[place + 1 :]
    return ""


_Row = tuple[str, str, str]


def _json_rows(data: bytes) -> Iterator[_Row]:
    try:
        document = codecs.decode_json(data, dict[str, Any])
    except msgspec.DecodeError:
        return
    files = document.get("files")
    for one in files if isinstance(files, list) else []:
        if isinstance(one, dict) and isinstance(one.get("url"), str):
            hashes = one.get("hashes")
            sha256 = hashes.get("sha256") if isinstance(hashes, dict) else None
            yanked = one.get("yanked") or ""
            yield (
                one["url"],
                f"sha256:{sha256}" if isinstance(sha256, str) else "",
                yanked if isinstance(yanked, str) else "yanked",
            )


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.rows: list[_Row] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        if tag == "a" and (href := known.get("href")):
            link, fragment = urldefrag(href)
            checksum = fragment.replace("sha256=", "sha256:", 1) if fragment.startswith("sha256=") else ""
            yanked = (known["data-yanked"] or "yanked") if "data-yanked" in known else ""
            self.rows.append((link, checksum, yanked))


def _html_rows(text: str) -> list[_Row]:
    links = _Links()
    links.feed(text)
    return links.rows


def read_pip_settings(environ: Mapping[str, str]) -> PipSettings:
    """The settings that pip would use for this user, without those of a workspace. Blocks."""
    options = _file_options(environ)
    for name, value in environ.items():
        if name.startswith("PIP_") and value:
            options[name[4:].lower().replace("_", "-")] = value
    index = options.get("index-url", _DEFAULT_INDEX)
    more = options.get("extra-index-url", "").split()
    indexes = more if options.get("no-index", "") in ("1", "true", "yes", "on") else [index, *more]
    proxy = options.get("proxy")
    return PipSettings(
        tuple(one.rstrip("/") for one in indexes),
        HttpSettings(
            environ=environ,
            proxies={"http": proxy, "https": proxy} if proxy else None,
            ca_file=options.get("cert", "") or environ.get("REQUESTS_CA_BUNDLE", ""),
        ),
    )


def _file_options(environ: Mapping[str, str]) -> dict[str, str]:
    options: dict[str, str] = {}
    for path in _config_files(environ):
        parser = configparser.RawConfigParser()
        try:
            parser.read(path, encoding="utf-8")
        except (configparser.Error, UnicodeError):
            continue
        for section in ("global", "download"):
            if parser.has_section(section):
                options |= {name.replace("_", "-"): value for name, value in parser.items(section) if value}
    return options


def _config_files(environ: Mapping[str, str]) -> Iterator[Path]:
    """Files in the order in which they are read; later ones win."""
    named = environ.get("PIP_CONFIG_FILE")
    if named in ("/dev/null", "nul"):
        return
    home = Path(environ.get("HOME") or environ.get("USERPROFILE") or Path.home())
    if sys.platform == "win32":
        yield Path(environ.get("APPDATA", str(home))) / "pip" / "pip.ini"
    else:
        yield Path("/etc/pip.conf")
        yield home / ".pip" / "pip.conf"
        if sys.platform == "darwin":
            yield home / "Library" / "Application Support" / "pip" / "pip.conf"
        yield Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "pip" / "pip.conf"
    if active := environ.get("VIRTUAL_ENV"):
        yield Path(active) / "pip.conf"
    if named:
        yield Path(named)
