"""Writes the Python and TypeScript code of the contract from proto/, and checks that it is fit to publish.

--check says, and changes nothing: the contract is well formed, breaks no client of the published
one, and the generated code in the tree is what it should be. --publish makes the contract of today
the one that may not be broken.
"""

import argparse
import ast
import filecmp
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROTO = ROOT / "proto"
PUBLISHED = PROTO / "published.binpb"
# Where buf writes, below its output folder, and where the code is kept.
GENERATED = (
    (Path("generated/portico/v1"), Path("src/portico/api/v1")),
    (Path("web/src/generated"), Path("web/src/generated")),
)
# The plugin writes server and client, also without asyncio, into one module. The server must not
# import the HTTP client, which takes some megabytes, and nothing here is called without asyncio.
CONNECT = "agent_connect.py"
CONNECT_PARTS = {
    "agent_service.py": ("AgentService", "AgentServiceASGIApplication"),
    "agent_client.py": ("AgentServiceClient",),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--publish", action="store_true")
    options = parser.parse_args()
    buf("lint", "proto")
    if options.publish:
        buf("build", "proto", "--exclude-source-info", "-o", str(PUBLISHED.relative_to(ROOT)))
    buf("breaking", "proto", "--against", str(PUBLISHED.relative_to(ROOT)))
    with tempfile.TemporaryDirectory() as folder:
        buf("generate", "proto", "--template", "proto/buf.gen.yaml", "-o", folder)
        python = Path(folder) / GENERATED[0][0]
        split_connect(python)
        for path in python.glob("*.py"):
            path.write_text(strip_docstrings(path.read_text()))
        if options.check:
            return tell_stale(
                [one for made, kept in GENERATED for one in differences(Path(folder) / made, ROOT / kept)]
            )
        for made, kept in GENERATED:
            shutil.rmtree(ROOT / kept, ignore_errors=True)
            shutil.copytree(Path(folder) / made, ROOT / kept)
    return 0


def buf(*arguments: str) -> None:
    places = [
        str(Path(sys.executable).parent),
        str(ROOT / "web/node_modules/.bin"),
        os.environ.get("PATH", ""),
    ]
    environ = {**os.environ, "PATH": os.pathsep.join(places)}
    done = subprocess.run(["buf", *arguments], cwd=ROOT, env=environ, check=False)
    if done.returncode:
        sys.exit(f"buf {arguments[0]} found the above in proto/")


def strip_docstrings(source: str) -> str:
    """A module without the docstrings of its classes and functions: they repeat proto/, in every process."""
    lines = source.splitlines(keepends=True)
    documented = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, documented)]
    for node in sorted(nodes, key=lambda node: node.lineno, reverse=True):
        if ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            rest = [] if len(node.body) > 1 else [" " * first.col_offset + "pass\n"]
            lines[first.lineno - 1 : first.end_lineno] = rest
    return "".join(lines)


def split_connect(folder: Path) -> None:
    """Replace the plugin's module by one for the server and one for the client."""
    source = (folder / CONNECT).read_text()
    (folder / CONNECT).unlink()
    for name, classes in CONNECT_PARTS.items():
        (folder / name).write_text(part_of(source, classes))


def part_of(source: str, classes: tuple[str, ...]) -> str:
    """A module with these classes of another one, and with the imports that they use."""
    module, lines = ast.parse(source), source.splitlines(keepends=True)
    code = [
        "".join(lines[node.lineno - 1 : node.end_lineno])
        for node in module.body
        if isinstance(node, ast.ClassDef) and node.name in classes
    ]
    used = {"annotations", "TYPE_CHECKING", *re.findall(r"\w+", "".join(code))}
    heading = "".join(lines[: module.body[0].lineno - 1])
    imports = [imported for node in module.body for imported in used_imports(node, used)]
    return "\n\n".join((heading + "\n".join(imports) + "\n", *code))


def used_imports(node: ast.stmt, used: set[str]) -> list[str]:
    """The import statements of a node, reduced to the names that are used."""
    if isinstance(node, ast.ImportFrom):
        names = [name for name in node.names if name.name in used]
        return [ast.unparse(ast.ImportFrom(node.module, names, node.level))] if names else []
    if isinstance(node, ast.If):
        inner = [one for child in node.body for one in used_imports(child, used)]
        return [ast.unparse(node.test).join(("if ", ":")), *(f"    {one}" for one in inner)]
    return []


def differences(fresh: Path, kept: Path) -> list[str]:
    names = {
        path.relative_to(top)
        for top in (fresh, kept)
        for path in top.rglob("*.*")
        if path.suffix in (".py", ".ts")
    }
    return [
        str(kept.relative_to(ROOT) / name)
        for name in sorted(names)
        if not (fresh / name).is_file()
        or not (kept / name).is_file()
        or not filecmp.cmp(fresh / name, kept / name, shallow=False)
    ]


def tell_stale(stale: list[str]) -> int:
    for name in stale:
        print(f"{name} is not what proto/ says; run: .venv/bin/python scripts/generate_proto.py")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
