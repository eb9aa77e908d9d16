"""Opens a real VS Code in the browser with the extension installed, to try it by hand. Ctrl+C ends all of it.

It is the VS Code of the tests. Its settings and its extensions stay in a folder beside it; sessions, agents and keys
are those that `portico` has on this machine.
"""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import psutil

from portico.cli.serve import open_browser
from portico.config.jsonc import to_json
from scripts.find_vscode import find, folder, install

PORT = 8791
READY = "Session server listening"
GRACE_SECONDS = 10.0
# What a new user of it begins with.
SETTINGS = {
    "extensions.ignoreRecommendations": True,
    "telemetry.telemetryLevel": "off",
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.startupEditor": "none",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, type=Path, help="the portico that the extension finds")
    parser.add_argument("--vsix", required=True, type=Path, help="the packed extension")
    parser.add_argument("folder", type=Path, help="what to open")
    flags = parser.parse_args()
    if find() is None:
        print("Building VS Code (once, a few minutes) …", file=sys.stderr)
        install()
    code_server = find()
    assert code_server is not None
    place = folder().parent / "editor"
    command = [code_server, "--user-data-dir", f"{place}/data", "--extensions-dir", f"{place}/extensions"]
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    _set_up(place / "data", flags.program)
    ran_before = _runs(flags.program)
    print("Starting VS Code …", file=sys.stderr)
    try:
        _install(command, flags.vsix)
        return _serve(command, flags.folder.resolve())
    except KeyboardInterrupt:
        return 0
    finally:
        if not ran_before:
            subprocess.run([flags.program, "stop"], stdout=subprocess.DEVNULL, check=False)


def _set_up(data: Path, program: Path) -> None:
    """Settings for a first start; the user's own settings stay, except for the path of the program."""
    user, machine = (data / whose / "settings.json" for whose in ("User", "Machine"))
    for file in (user, machine):
        file.parent.mkdir(parents=True, exist_ok=True)
    if not user.exists():
        user.write_text(json.dumps(SETTINGS, indent=2) + "\n")
    # VS Code looks for a program where it runs, not with the window; the PATH it takes from a shell of its own.
    chosen = json.loads(to_json(machine.read_text())) if machine.exists() else {}
    machine.write_text(json.dumps({**chosen, "portico.program": str(program)}, indent=2) + "\n")


def _runs(program: Path) -> bool:
    """Whether Portico's server is up already; then it is not ours to end."""
    output = subprocess.run([program, "status", "--api"], capture_output=True, check=False).stdout
    return bool(json.loads(output or "{}").get("running"))


def _install(command: Sequence[str], vsix: Path) -> None:
    done = subprocess.run(
        [*command, "--install-extension", str(vsix), "--force"], capture_output=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"VS Code would not take the extension:\n{done.stderr.decode(errors='replace')}")


def _serve(command: Sequence[str], opened: Path) -> int:
    flags = ("--auth", "none", "--disable-workspace-trust", "--disable-update-check", "--disable-telemetry")
    with subprocess.Popen(
        [*command, *flags, "--bind-addr", f"127.0.0.1:{_free_port()}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # Ctrl+C is for us: we end it, and see to it that nothing is left.
        start_new_session=True,
    ) as server:
        try:
            address = _until_ready(server)
            link = f"{address}/?folder={quote(str(opened))}"
            print(f"VS Code with Portico, on {opened}: {link}")
            print("Click the portico in the bar on the left, and ask: /help", flush=True)
            print("Ctrl+C here ends it, and Portico's server if it was not running before.", file=sys.stderr)
            open_browser(link, os.environ)
            assert server.stdout is not None
            # Its further output is not used, but has to be read.
            deque(server.stdout, maxlen=0)
            return server.wait()
        finally:
            _end(server)


def _until_ready(server: "subprocess.Popen[str]") -> str:
    assert server.stdout is not None
    said, address = [], ""
    for line in server.stdout:
        said.append(line)
        if "HTTP server listening on " in line:
            address = line.split("HTTP server listening on ")[1].strip().rstrip("/")
        if READY in line:
            return address
    raise SystemExit("VS Code did not start. Its last words:\n" + "".join(said[-10:]))


def _end(server: "subprocess.Popen[str]") -> None:
    """Close the editor's windows so that extensions can clean up, then kill what is left."""
    with suppress(psutil.NoSuchProcess):
        started = psutil.Process(server.pid).children(recursive=True)
        server.terminate()
        _, left = psutil.wait_procs([psutil.Process(server.pid), *started], timeout=GRACE_SECONDS)
        for process in left:
            process.kill()


def _free_port() -> int:
    """The same one each time, so that the browser finds the window as it was; another one if that is taken."""
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(("127.0.0.1", PORT))
        except OSError:
            return 0
    return PORT


if __name__ == "__main__":
    sys.exit(main())
