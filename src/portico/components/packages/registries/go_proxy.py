"""Go modules, downloaded by go itself.

`go mod download` uses GOPROXY, GOPRIVATE and GOSUMDB as they are configured, verifies the module and builds nothing.
"""

import base64
import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from portico.components.packages.cache import PackageArchive
from portico.components.packages.errors import PackageNotFound, PackageRefused, RegistryFailed
from portico.components.packages.registries.archive_file import PackageQuery
from portico.components.packages.registries.client_program import run_client
from portico.domain import codecs

_MISSING = (
    "404 Not Found",
    "403 Forbidden",
    "410 Gone",
    "unknown revision",
    "no matching versions",
    "not found",
)
_CHUNK = 1024 * 1024


class GoRegistry:
    def find_local(self, query: PackageQuery, environ: Mapping[str, str]) -> PackageArchive | None:
        folder = _module_cache(environ) / "cache" / "download" / _escaped(query.name.name) / "@v"
        path = folder / f"{_escaped(query.version)}.zip"
        if not path.is_file():
            return None
        return _archive(query, query.version, path, _check(path, query) or "by go", "go's module cache")

    async def fetch(self, query: PackageQuery, folder: Path, environ: Mapping[str, str]) -> PackageArchive:
        spec = f"{query.name.name}@{query.version or 'latest'}"
        # No go.mod of a folder above counts, and no other version of go is downloaded.
        quiet = {**environ, "GOTOOLCHAIN": "local", "GO111MODULE": "on", "GOWORK": "off", "GOFLAGS": ""}
        (folder / "go.mod").write_text("module portico.invalid/fetch\n")
        result = await run_client(("go", "mod", "download", "-json", spec), folder, quiet)
        report = _report(result.output)
        if report.get("Error") or "Zip" not in report:
            raise _failure(spec, str(report.get("Error") or result.last_line()))
        path = Path(str(report["Zip"]))
        verified = _check(path, query) or "by go"
        return _archive(query, str(report["Version"]), path, verified, "the module proxy, with go")


def _archive(query: PackageQuery, version: str, path: Path, verified: str, source: str) -> PackageArchive:
    return PackageArchive(
        name=query.name,
        version=version,
        path=path,
        source=source,
        folder_depth=query.name.name.count("/") + 1,
        verified=verified,
    )


def _module_cache(environ: Mapping[str, str]) -> Path:
    if named := environ.get("GOMODCACHE"):
        return Path(named)
    home = Path(environ.get("HOME") or Path.home())
    return Path((environ.get("GOPATH") or str(home / "go")).split(":")[0]) / "pkg" / "mod"


def _escaped(text: str) -> str:
    """Go writes a capital letter as `!` and the small one, for file systems that know no case."""
    return "".join(f"!{letter.lower()}" if letter.isupper() else letter for letter in text)


def _check(path: Path, query: PackageQuery) -> str:
    """Verify a module against go.sum, and say how. PackageRefused if it is another one."""
    wanted = [one for one in query.checksums if one.startswith("h1:")]
    if not wanted:
        return ""
    found = module_sum(path)
    if found not in wanted:
        raise PackageRefused(
            f"The module is not the one that {query.origin} names: its sum is {found}.",
            suggestion="Nothing of it was kept. Tell the person: the proxy or go.sum is wrong.",
        )
    return f"h1 of {query.origin}"


def module_sum(path: Path) -> str:
    """The sum of a module's zip as in go.sum: a hash over the hashes of its files, sorted by name."""
    lines = []
    try:
        with zipfile.ZipFile(path) as archive:
            for name in sorted(archive.namelist()):
                digest = hashlib.sha256()
                with archive.open(name) as file:
                    while data := file.read(_CHUNK):
                        digest.update(data)
                lines.append(f"{digest.hexdigest()}  {name}\n")
    except (zipfile.BadZipFile, OSError, RuntimeError) as error:
        raise PackageRefused(f"The archive of the module is damaged ({error}).") from error
    return f"h1:{base64.b64encode(hashlib.sha256(''.join(lines).encode()).digest()).decode()}"


def _report(output: str) -> dict[str, Any]:
    try:
        report = codecs.decode_json(output)
    except msgspec.DecodeError:
        return {}
    return report if isinstance(report, dict) else {}


def _failure(spec: str, said: str) -> Exception:
    if any(sign in said for sign in _MISSING):
        return PackageNotFound(
            f"There is no module {spec}: {said[:300]}",
            suggestion="Give the path of the module as in go.mod, not that of a package in it.",
        )
    return RegistryFailed(f"go could not download {spec}: {said[:300]}")
