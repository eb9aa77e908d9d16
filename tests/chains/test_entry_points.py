"""Proxies of installed packages run inside Portico, and only if the user trusts the package."""

from pathlib import Path

import pytest

from portico.chains.entry_points import load_installed_proxy
from portico.domain.errors import InvalidInput

PROXY = """
from portico.proxy import Proxy

class Quiet(Proxy):
    name = "quiet"

def broken():
    raise KeyError("colour")

no_proxy = dict
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package with three entry points; importing it leaves a file behind."""
    imported = tmp_path / "imported"
    (tmp_path / "quiet_proxy.py").write_text(f"open({str(imported)!r}, 'w').close()\n{PROXY}")
    info = tmp_path / "Quiet_Proxy-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: Quiet_Proxy\nVersion: 1.0\n")
    points = ("quiet = quiet_proxy:Quiet", "broken = quiet_proxy:broken", "wrong = quiet_proxy:no_proxy")
    (info / "entry_points.txt").write_text("\n".join(["[portico.proxies]", *points]) + "\n")
    monkeypatch.syspath_prepend(tmp_path)
    return imported


def test_a_trusted_package_gives_its_proxy(package: Path) -> None:
    proxy = load_installed_proxy("quiet", ["quiet-proxy"])
    assert proxy is not None
    assert proxy.name == "quiet"


def test_a_package_that_is_not_trusted_is_not_even_imported(package: Path) -> None:
    with pytest.raises(InvalidInput, match="Quiet_Proxy, which is not trusted") as caught:
        load_installed_proxy("quiet", ["another"])
    assert "trustedPackages" in (caught.value.suggestion or "")
    assert not package.exists()


def test_a_name_that_no_package_offers_is_nothing(package: Path) -> None:
    assert load_installed_proxy("loud", ["quiet-proxy"]) is None


def test_a_proxy_that_fails_to_start_is_named_with_its_error(package: Path) -> None:
    with pytest.raises(InvalidInput, match="'broken' of the package Quiet_Proxy failed to start: KeyError"):
        load_installed_proxy("broken", ["quiet-proxy"])


def test_an_entry_point_that_is_no_proxy_is_refused(package: Path) -> None:
    with pytest.raises(InvalidInput, match=r"is not a portico\.proxy\.Proxy"):
        load_installed_proxy("wrong", ["quiet-proxy"])
