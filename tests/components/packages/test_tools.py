"""An agent finds, lists, searches and reads the sources of packages, in short answers."""

import os
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from portico.acp import _schema as acp
from portico.components.component import ComponentContext, ComponentUnavailable
from portico.components.packages.answers import PackageAnswers
from portico.components.packages.component import PackagesComponent
from portico.components.packages.descriptions import MOST_BYTES
from portico.components.packages.options import PackagesOptions
from portico.components.packages.tools import package_tools
from portico.mcp.tools import ToolCall, ToolFailure
from tests.conductor.mcp_support import ask, call, introduce, message, open_session
from tests.conductor.support import chain
from tests.review.trees import write

TOOLS = ["package_source", "package_search", "package_read", "package_list", "package_query"]
ITSELF = {"ecosystem": "npm", "name": "thing"}


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("packages")
    write(
        folder / "node_modules/thing",
        {
            "package.json": '{"version": "1.0.0"}',
            "lib/code.js": "function one() {}\n// TODO: Two\nfunction two() {}\n",
            "lib/.env": "TOKEN=one() {}",
            "long.txt": "needle " * 3000 + "\n" + "line\n" * 20_000,
            "node_modules/inner/code.js": "function one() {}",
            "image.bin": "\0" * 10,
            **{f"many/{number}.txt": "filler\n" for number in range(300)},
        },
    )
    return folder


@pytest.fixture(params=["ripgrep", "python"])
def environ(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """An environment with ripgrep, and one without."""
    path = str(Path(sys.executable).parent if request.param == "ripgrep" else tmp_path)
    return {"PATH": path, "HOME": str(tmp_path), "PORTICO_HOME": str(tmp_path)}


async def use(work: Path, environ: dict[str, str], tool_name: str, **arguments: Any) -> str:
    answers = PackageAnswers(work, environ, PackagesOptions())
    tools = package_tools(lambda: answers)
    tool = next(tool for tool in tools if tool.name == tool_name)
    assert tool.read_only
    answer = await tool.run(ToolCall({**ITSELF, **arguments}, "s", str(work), lambda *_: None))
    assert isinstance(answer, str)
    assert len(answer.encode()) < MOST_BYTES + 1000
    return answer


async def test_the_source_says_which_version_and_why(work: Path, environ: dict[str, str]) -> None:
    answer = await use(work, environ, "package_source")
    assert answer.startswith("thing 1.0.0 (npm), from node_modules.\nSources: as installed in node_modules. ")
    assert "lib/  2 files" in answer


async def test_a_search_finds_text_and_patterns_in_the_package_alone(
    work: Path, environ: dict[str, str]
) -> None:
    found = await use(work, environ, "package_search", query="one() {")
    assert found == "thing 1.0.0 (npm), 1 matches:\nlib/code.js:1: function one() {}"
    found = await use(work, environ, "package_search", query=r"function \w+", regex=True, path="lib")
    assert found.count("lib/code.js") == 2
    assert "code.js:2" in await use(work, environ, "package_search", query="todo", ignore_case=True)
    assert "does not have" in await use(work, environ, "package_search", query="todo")
    assert "does not have" in await use(work, environ, "package_search", query="one", glob="*.txt")
    assert "lib/code.js" in await use(work, environ, "package_search", query="one", glob="*.js")
    many = await use(work, environ, "package_search", query="filler")
    assert "there may be more" in many
    assert len((await use(work, environ, "package_search", query="needle")).split("\n")[1]) < 400


async def test_mistakes_are_answered_with_words(work: Path, environ: dict[str, str]) -> None:
    for name, arguments, words in (
        ("package_search", {"query": "(", "regex": True}, "is not a regular expression"),
        ("package_search", {"query": "x", "path": "../.."}, "not a path inside"),
        ("package_search", {"query": "x", "path": "gone"}, "no file or folder gone"),
        ("package_read", {"path": "gone.js"}, "has no file gone.js"),
        ("package_read", {"path": "/etc/passwd"}, "not a path inside"),
        ("package_read", {"path": "lib/.env"}, "not a path inside"),
        ("package_read", {"path": "lib"}, "it is a folder"),
        ("package_read", {"path": "image.bin"}, "binary file"),
        ("package_read", {"path": "node_modules/inner/code.js"}, "does not belong"),
        ("package_list", {"name": "th\u0456ng"}, "U+0456"),
        ("package_source", {"version": "git+ssh://x"}, "is not a version"),
        ("package_source", {"ecosystem": "cpan"}, "do not fit"),
    ):
        with pytest.raises(ToolFailure, match=words.replace("+", r"\+")):
            await use(work, environ, name, **arguments)


async def test_a_search_follows_no_link_out_of_the_package(tmp_path: Path, environ: dict[str, str]) -> None:
    outside = tmp_path / "outside"
    write(outside, {"key.txt": "mine"})
    site = tmp_path / "work/.venv/lib/python3.12/site-packages"
    write(site, {"evil-1.0.dist-info/RECORD": "evil/__init__.py,,\nfine.py,,\n", "fine.py": "mine too"})
    (site / "evil").symlink_to(outside)
    itself = {"ecosystem": "pypi", "name": "evil"}
    found = await use(tmp_path / "work", environ, "package_search", **itself, query="mine")
    assert found.endswith("1 matches:\nfine.py:1: mine too")
    with pytest.raises(ToolFailure, match="no file or folder evil"):
        await use(tmp_path / "work", environ, "package_search", **itself, query="mine", path="evil")
    with pytest.raises(ToolFailure, match="cannot be read"):
        await use(tmp_path / "work", environ, "package_read", **itself, path="evil/key.txt")


async def test_lines_are_read_in_portions(work: Path, environ: dict[str, str]) -> None:
    answer = await use(work, environ, "package_read", path="lib/code.js", line=2, lines=1)
    assert answer == "lib/code.js of thing 1.0.0 (npm), lines 2 to 2 of 3:\n2\t// TODO: Two"
    assert "there is no line 9" in await use(work, environ, "package_read", path="lib/code.js", line=9)
    long = await use(work, environ, "package_read", path="long.txt", lines=2000)
    assert long.startswith("long.txt of thing 1.0.0 (npm), lines 1 to 2,000 of 20,001:")


async def test_files_are_listed_by_folder_when_there_are_many(work: Path, environ: dict[str, str]) -> None:
    assert "many/  300 files" in await use(work, environ, "package_list")
    listed = await use(work, environ, "package_list", path="lib")
    assert "lib/code.js" in listed
    assert "many" not in listed


async def test_the_component_offers_its_tools_to_a_session(work: Path, tmp_path: Path) -> None:
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PORTICO_HOME": str(tmp_path)}
    context = ComponentContext(
        workspace=work, environ=environ, editor=acp.ClientCapabilities(), agent=acp.AgentCapabilities()
    )
    with pytest.raises(ComponentUnavailable, match="uses no packages"):
        PackagesComponent().plan(context)
    write(work, {"app/package.json": "{}"})
    with pytest.raises(ComponentUnavailable, match="cacheMegabytes"):
        PackagesComponent().plan(msgspec.structs.replace(context, options={"cacheMegabytes": 0}))
    (proxy,) = PackagesComponent().plan(context)
    async with chain(proxy) as ends:
        await introduce(ends, acp=True)
        (server,) = await open_session(ends, cwd=str(work))
        listed = await ask(ends.agent, 1, "mcp/message", message(server["serverId"], "1", "tools/list"))
        tools = listed["result"]["result"]["tools"]
        assert [tool["name"] for tool in tools] == TOOLS
        assert all(tool["annotations"] == {"readOnlyHint": True} for tool in tools)
        asked = call(server["serverId"], "2", "package_search", **ITSELF, query="function two")
        told = (await ask(ends.agent, 2, "mcp/message", asked))["result"]["result"]
        assert "lib/code.js:3" in told["content"][0]["text"]
