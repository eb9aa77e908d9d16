"""Real packages, fetched with the clients of the person who runs the tests, into caches that are empty at first."""

import os
import pwd
import shutil
from pathlib import Path

import pytest

from portico.domain.errors import ExitCode
from tests.support.program import Portico
from tests.support.stream import Json

MORE_ATTEMPTS = 2
NO_NETWORK = {
    **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9"),
    "GOPROXY": "off",
    "npm_config_offline": "true",
    "CARGO_NET_OFFLINE": "true",
}


def client_caches(folder: Path) -> dict[str, str]:
    """The environment of clients that are configured as usual, with caches in a folder of their own."""
    own = Path(pwd.getpwuid(os.getuid()).pw_dir)
    cargo = folder / "cargo"
    cargo.mkdir(parents=True, exist_ok=True)
    for name in ("config.toml", "credentials.toml"):
        if (own / ".cargo" / name).is_file():
            shutil.copy(own / ".cargo" / name, cargo / name)
    settings = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "GO", "npm_"))}
    return {
        **settings,
        "HOME": str(own),
        "CARGO_HOME": str(cargo),
        "GOMODCACHE": str(folder / "go"),
        "GOFLAGS": "-modcacherw",
        "npm_config_cache": str(folder / "npm"),
        "npm_config_update_notifier": "false",
    }


def fetch(portico: Portico, environ: dict[str, str], ecosystem: str, name: str, version: str) -> Json:
    """A package as `portico packages show` tells of it. A registry that is slow or away is asked again."""
    command = ("packages", "show", ecosystem, name, version, "--api")
    ran = portico.run(*command, environ=environ, seconds=300)
    for _ in range(MORE_ATTEMPTS):
        if ran.code == ExitCode.TRANSPORT:
            ran = portico.run(*command, environ=environ, seconds=300)
    if ran.code == 0:
        shown: Json = ran.api["package"]
        return shown
    what = f"{name} {version} ({ecosystem}) could not be fetched. This test needs the registries"
    pytest.fail(f"{what}, as pip, npm, cargo and go are configured here: {ran.text or ran.err}")
