"""Opens a real VS Code in the browser with the extension installed, to try it by hand. Ctrl-C ends it."""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from scripts.find_vscode import find, folder, install

PORT = 8791


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, help="the portico program that the extension uses")
    parser.add_argument("--vsix", required=True, type=Path)
    parser.add_argument("folder", type=Path)
    flags = parser.parse_args()
    if find() is None:
        print("Building VS Code (once, a few minutes) …", file=sys.stderr)
        install()
    program = find()
    assert program is not None
    place = folder().parent / "editor"
    # Which program to use is a matter of the machine: VS Code looks for that where it runs, not with the window.
    wishes = {
        "User": {"workbench.startupEditor": "none", "telemetry.telemetryLevel": "off"},
        "Machine": {"portico.program": flags.program},
    }
    for whose, chosen in wishes.items():
        settings = place / "data" / whose / "settings.json"
        settings.parent.mkdir(parents=True, exist_ok=True)
        if not settings.exists():
            settings.write_text(json.dumps(chosen, indent=2) + "\n")
    where = ["--user-data-dir", str(place / "data"), "--extensions-dir", str(place / "extensions")]
    subprocess.run([program, *where, "--install-extension", str(flags.vsix), "--force"], check=True)
    print(f"VS Code: http://127.0.0.1:{PORT}/?folder={flags.folder.resolve()}", flush=True)
    server = ["--auth", "none", "--disable-workspace-trust", "--disable-update-check", "--disable-telemetry"]
    try:
        return subprocess.run(
            [program, *where, *server, "--bind-addr", f"127.0.0.1:{PORT}", str(flags.folder.resolve())],
            env=dict(os.environ),
            check=False,
        ).returncode
    except KeyboardInterrupt:
        return 0


if __name__ == "__main__":
    sys.exit(main())
