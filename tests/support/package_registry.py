"""Registries of all ecosystems on loopback, and a user's home whose clients are configured for them."""

import base64
import hashlib
import io
import json
import os
import pwd
import tarfile
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class LoopbackRegistry:
    """A web server with fixed files. `requests` are the paths that were asked for, with their headers."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.requests: list[tuple[str, Mapping[str, str]]] = []
        self.silent = threading.Event()
        self.address = ""

    def paths(self) -> list[str]:
        return [path for path, _ in self.requests]

    def add_wheel(self, name: str, version: str, files: Mapping[str, str], *, yanked: str = "") -> None:
        """A wheel in a simple index. An older version stays in the index."""
        data = zip_of(files)
        filename = f"{name}-{version}-py3-none-any.whl"
        self.files[f"/simple-files/{filename}"] = data
        self._index(name, filename, data, yanked)

    def add_sdist(self, name: str, version: str, files: Mapping[str, str]) -> None:
        data = tar_of({f"{name}-{version}/{path}": text for path, text in files.items()})
        filename = f"{name}-{version}.tar.gz"
        self.files[f"/simple-files/{filename}"] = data
        self._index(name, filename, data, "")

    def _index(self, name: str, filename: str, data: bytes, yanked: str) -> None:
        mark = f' data-yanked="{yanked}"' if yanked else ""
        line = f'<a href="/simple-files/{filename}#sha256={hashlib.sha256(data).hexdigest()}"{mark}>x</a>\n'
        page = f"/simple/{name}/"
        self.files[page] = self.files.get(page, b"") + line.encode()

    def add_npm(self, name: str, version: str, files: Mapping[str, str]) -> str:
        """A package in npm's registry; its integrity."""
        manifest = json.dumps(
            {"name": name, "version": version, "scripts": {"prepack": "touch ran", "install": "touch ran"}}
        )
        data = tar_of({f"package/{path}": text for path, text in {"package.json": manifest, **files}.items()})
        integrity = f"sha512-{base64.b64encode(hashlib.sha512(data).digest()).decode()}"
        place = f"/npm/{name}/-/{name.rpartition('/')[2]}-{version}.tgz"
        self.files[place] = data
        dist = {"tarball": f"{self.address}{place}", "integrity": integrity}
        document = {
            "name": name,
            "dist-tags": {"latest": version},
            "versions": {version: {"name": name, "version": version, "dist": dist}},
        }
        self.files[f"/npm/{name.replace('/', '%2f')}"] = json.dumps(document).encode()
        return integrity

    def add_crate(self, name: str, version: str, files: Mapping[str, str], *, yanked: bool = False) -> str:
        """A crate in a sparse index; its checksum."""
        manifest = f'[package]\nname = "{name}"\nversion = "{version}"\nedition = "2021"\n'
        every = {"Cargo.toml": manifest, "src/lib.rs": "", **files}
        data = tar_of({f"{name}-{version}/{path}": text for path, text in every.items()})
        checksum = hashlib.sha256(data).hexdigest()
        self.files["/crates/config.json"] = json.dumps(
            {"dl": f"{self.address}/dl/{{crate}}-{{version}}.crate"}
        ).encode()
        self.files[f"/dl/{name}-{version}.crate"] = data
        line = {
            "name": name,
            "vers": version,
            "deps": [],
            "cksum": checksum,
            "features": {},
            "yanked": yanked,
        }
        place = f"/crates/{name[:2]}/{name[2:4]}/{name}"
        self.files[place] = self.files.get(place, b"") + json.dumps(line).encode() + b"\n"
        return checksum

    def add_module(self, name: str, version: str, files: Mapping[str, str]) -> None:
        """A module behind a module proxy."""
        place = f"/go/{name}/@v"
        every = {"go.mod": f"module {name}\n", **files}
        self.files[f"{place}/list"] = f"{version}\n".encode()
        self.files[f"{place}/{version}.info"] = json.dumps(
            {"Version": version, "Time": "2024-01-01T00:00:00Z"}
        ).encode()
        self.files[f"/go/{name}/@latest"] = self.files[f"{place}/{version}.info"]
        self.files[f"{place}/{version}.mod"] = every["go.mod"].encode()
        self.files[f"{place}/{version}.zip"] = zip_of(
            {f"{name}@{version}/{path}": text for path, text in every.items()}
        )

    def add_jar(self, name: str, version: str, files: Mapping[str, str]) -> None:
        """A sources jar in a Maven repository."""
        group, _, artifact = name.partition(":")
        place = f"/maven/{group.replace('.', '/')}/{artifact}"
        jar = f"{place}/{version}/{artifact}-{version}-sources.jar"
        self.files[jar] = zip_of(files)
        self.files[f"{jar}.sha1"] = hashlib.sha1(self.files[jar]).hexdigest().encode()
        versions = (
            f"<metadata><versioning><versions><version>{version}</version></versions></versioning></metadata>"
        )
        self.files[f"{place}/maven-metadata.xml"] = versions.encode()


@contextmanager
def loopback_registry() -> Iterator[LoopbackRegistry]:
    registry = LoopbackRegistry()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            registry.requests.append((self.path, dict(self.headers)))
            if registry.silent.is_set():
                self.rfile.read(1)  # Until the client gives up.
                return
            data = registry.files.get(self.path)
            self.send_response(200 if data is not None else 404)
            self.send_header("Content-Length", str(len(data or b"")))
            self.end_headers()
            self.wfile.write(data or b"")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as in the base class
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    registry.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield registry
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def configure_clients(home: Path, address: str) -> None:
    """Configure pip, npm, cargo, go and Maven for the registry, each by its own file in a user's home."""
    for folder in (".config/pip", ".cargo", ".m2", "work"):
        (home / folder).mkdir(parents=True)
    (home / ".config/pip/pip.conf").write_text(f"[global]\nindex-url = {address}/simple\n")
    (home / ".npmrc").write_text(f"registry={address}/npm/\n")
    (home / ".cargo/config.toml").write_text(
        '[source.crates-io]\nreplace-with = "mirror"\n'
        f'[source.mirror]\nregistry = "sparse+{address}/crates/"\n'
    )
    (home / ".m2/settings.xml").write_text(
        f"<settings><mirrors><mirror><id>m</id><mirrorOf>*</mirrorOf><url>{address}/maven</url></mirror></mirrors></settings>"
    )
    (home / ".config/go").mkdir(parents=True)
    (home / ".config/go/env").write_text(
        f"GOPROXY={address}/go\nGONOSUMDB=*\nGONOSUMCHECK=1\nGOFLAGS=-modcacherw\n"
    )


def client_environ(home: Path) -> dict[str, str]:
    """The environment of a user with this home."""
    own = Path(pwd.getpwuid(os.getuid()).pw_dir)
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PORTICO_HOME": str(home / "portico"),
        # rustup's own files, through which cargo is started on many machines.
        "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(own / ".rustup")),
        "npm_config_update_notifier": "false",
    }


def zip_of(files: Mapping[str, str]) -> bytes:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return raw.getvalue()


def tar_of(files: Mapping[str, str]) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as archive:
        for path, text in files.items():
            info = tarfile.TarInfo(path)
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return raw.getvalue()
