"""Indexes, certificates and proxies as pip is configured: environment, then its configuration files."""

import configparser
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from portico.components.packages.registries.http_source import HttpSettings

_DEFAULT_INDEX = "https://pypi.org/simple"


class PipSettings(msgspec.Struct, frozen=True):
    """`indexes` are addresses of simple indexes, the main one first."""

    indexes: tuple[str, ...]
    http: HttpSettings


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
