"""npm's registry, or the one in the user's npmrc, through npm.

`npm pack` downloads the archive of a package and verifies its integrity; with scripts off, it runs nothing of it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from portico.components.packages.cache import PackageArchive, check_checksums
from portico.components.packages.errors import PackageNotFound, RegistryFailed
from portico.components.packages.registries.archive_file import PackageQuery
from portico.components.packages.registries.client_program import ProgramResult, run_client
from portico.domain import codecs

_FLAGS = (
    *("--ignore-scripts", "--json", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"),
    # By default npm waits more than a minute in all for a registry that fails.
    *("--fetch-retries=1", "--fetch-retry-mintimeout=500", "--fetch-retry-maxtimeout=2000"),
)
_MISSING = ("E404", "ETARGET", "ENOVERSIONS")


class NpmRegistry:
    def find_local(self, query: PackageQuery, environ: Mapping[str, str]) -> PackageArchive | None:
        return None  # npm's cache is read by npm itself, below.

    async def fetch(self, query: PackageQuery, folder: Path, environ: Mapping[str, str]) -> PackageArchive:
        spec = f"{query.name.name}@{query.version or 'latest'}"
        # An archive that npm has in its cache needs no request.
        cached = "--prefer-offline" if query.version else "--prefer-online"
        result = await run_client(("npm", "pack", spec, cached, *_FLAGS), folder, environ)
        packed = _first(result.output)
        if result.exit_code != 0 or packed is None:
            raise _failure(spec, result)
        archive = folder / Path(str(packed.get("filename", ""))).name
        if not archive.is_file():
            raise RegistryFailed(f"npm wrote no archive of {spec}.")
        return PackageArchive(
            name=query.name,
            version=str(packed.get("version")),
            path=archive,
            source="the registry, with npm",
            folder_depth=1,
            verified=check_checksums(archive, query.checksums, query.origin) or "by npm",
        )


def _first(output: str) -> dict[str, Any] | None:
    """The one package that npm reports; its reports differ between versions."""
    try:
        report = codecs.decode_json(output)
    except msgspec.DecodeError:
        return None
    if isinstance(report, dict):
        report = list(report.values())
    found = report[0] if isinstance(report, list) and report else None
    return found if isinstance(found, dict) else None


def _failure(spec: str, result: ProgramResult) -> Exception:
    said = result.errors + result.output
    if any(code in said for code in _MISSING):
        return PackageNotFound(
            f"There is no {spec} in the registry that npm uses.",
            suggestion="Check the name, or leave out the version.",
        )
    summary = (_first(result.output) or {}).get("summary") or result.last_line()
    return RegistryFailed(f"npm could not download {spec}: {str(summary)[:300]}")
