"""Says where a real VS Code is, for the tests of the extension; builds one in a cache where there is none.

It is code-server, which is VS Code with its window in a browser, on a Node of its own, because its native
parts are built for that one. --install builds it (once, a few minutes). The answer is the program to start.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

CODE_SERVER = "4.139.1"
NODE = "24.9.0"
VARIABLE = "PORTICO_CODE_SERVER"
HEADERS = (
    "libkrb5-dev",
    "libx11-dev",
    "libxkbfile-dev",
    "libsecret-1-dev",
    "pkg-config",
    "g++",
    "make",
    "python3",
)


def folder() -> Path:
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return caches / "portico-tests" / f"code-server-{CODE_SERVER}-node-{NODE}"


def find() -> str | None:
    if named := os.environ.get(VARIABLE):
        return named
    program = folder() / "code-server"
    return str(program) if program.exists() else None


def built_in_extensions(program: str) -> Path:
    """The folder of the extensions that are part of a code-server."""
    inside = (Path("node_modules", "code-server", "lib"), Path("lib"))
    above = Path(program).resolve().parents
    places = (one / lib / "vscode" / "extensions" for one in above for lib in inside)
    return next(place for place in places if place.is_dir())


def install() -> None:
    place = folder()
    place.mkdir(parents=True, exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if find() is not None:
            return
        get_headers()
        build(place)


def get_headers() -> None:
    if shutil.which("apt-get") and not apt("install", "--yes", *HEADERS):
        apt("update")
        apt("install", "--yes", *HEADERS)


def apt(*arguments: str) -> bool:
    root = [] if os.geteuid() == 0 else ["sudo", "--non-interactive"]
    environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(
        [*root, "apt-get", "-qq", *arguments], stdout=subprocess.DEVNULL, env=environ, check=False
    )
    return done.returncode == 0


def build(place: Path) -> None:
    (place / "package.json").write_text('{"name": "vscode-for-tests", "private": true}\n')
    npm = ["npm", "install", "--no-audit", "--no-fund", "--loglevel", "error"]
    subprocess.run([*npm, f"node@{NODE}"], cwd=place, check=True)
    subprocess.run([*npm, "--ignore-scripts", f"code-server@{CODE_SERVER}"], cwd=place, check=True)
    own = place / "node_modules" / "node" / "bin"
    environ = {
        **os.environ,
        "PATH": f"{own}{os.pathsep}{os.environ['PATH']}",
        "npm_config_user_agent": "npm/11 node/v24 linux x64",
        **headers(),
    }
    inside = place / "node_modules" / "code-server"
    log = place / "build.log"
    with log.open("wb") as output:
        done = subprocess.run(
            ["bash", "postinstall.sh"], cwd=inside, env=environ, stdout=output, stderr=output, check=False
        )
    if done.returncode:
        print(log.read_text(errors="replace")[-4_000:], file=sys.stderr)
        raise SystemExit("VS Code could not be built; above are the last words of its build.")
    program = place / "code-server.part"
    program.write_text(f'#!/bin/sh\nexec "{own / "node"}" "{inside / "out" / "node" / "entry.js"}" "$@"\n')
    program.chmod(0o755)
    program.replace(place / "code-server")


def headers() -> dict[str, str]:
    """Folder of Node's headers for the native parts, without the network: their interface is the same in all."""
    node = shutil.which("node")
    prefix = None if node is None else Path(node).resolve().parent.parent
    found = prefix is not None and (prefix / "include" / "node" / "node_api.h").is_file()
    return {"npm_config_nodedir": str(prefix)} if found else {}


def main() -> int:
    if find() is None and "--install" in sys.argv[1:]:
        print("Building VS Code for the tests of the extension (once, a few minutes) …", file=sys.stderr)
        install()
    found = find()
    if found is None:
        print(
            f"The tests of the extension need VS Code. Run this with --install, or name a code-server with {VARIABLE}.",
            file=sys.stderr,
        )
        return 1
    print(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
