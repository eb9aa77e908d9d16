"""Any agent at any door asks a real language server, and hears about the files as they are now."""

import json
import subprocess
import sys
from typing import Any

from tests.editors.language_servers.support import real_server_path
from tests.support.editor import PEERS
from tests.support.program import PROGRAM, Portico

Json = dict[str, Any]


def tool(name: str, **arguments: Any) -> Json:
    return {"use_tool": {"server": "portico-code", "name": name, "arguments": arguments}}


def prepare(portico: Portico) -> list[Json]:
    """A workspace with a module and its user, and a turn that breaks the user by changing the module."""
    (portico.workspace / "lib.py").write_text("def greet(name: str) -> str:\n    return name\n")
    (portico.workspace / "main.py").write_text('from lib import greet\n\nprint(greet("you"))\n')
    (portico.workspace / "sail.ts").write_text("export function hoist(): void {}\n\nhoist();\n")
    (portico.workspace / "keel.c").write_text(
        "static int depth(void) { return 2; }\n\nint keel(void) { return depth(); }\n"
    )
    return [
        tool("references", path="sail.ts", line=1, symbol="hoist"),
        tool("definition", path="keel.c", line=3, symbol="depth"),
        tool("definition", path="main.py", line=3, symbol="greet"),
        tool("problems", path="main.py"),
        {"write": {"path": "lib.py", "content": "def greet(name: int) -> str:\n    return str(name)\n"}},
        tool("problems", path="main.py"),
    ]


def check(told: str) -> None:
    assert "sail.ts:3:1  hoist();" in told
    assert "keel.c:1:12  static int depth(void)" in told
    assert "lib.py:1:5  def greet(name: str) -> str:" in told
    assert "There are no problems." in told
    assert 'main.py:3:13  error [basedpyright]  Argument of type "Literal' in told


def test_through_exec_about_the_working_copy_of_a_proposal(portico: Portico) -> None:
    done = portico.exec(prepare(portico), "--mode", "proposal", environ={"PATH": real_server_path()})
    assert done.code == 0, done.err
    check(done.stream.answer)
    assert "name: str" in (portico.workspace / "lib.py").read_text()


def test_through_acp_with_a_client_of_the_python_sdk_that_has_no_files(portico: Portico) -> None:
    command = [sys.executable, str(PEERS / "minimal_client.py"), str(portico.workspace)]
    done = subprocess.run(
        [*command, json.dumps(prepare(portico)), str(PROGRAM), "acp", "--agent-command", portico.agent],
        cwd=portico.workspace,
        env=portico.environ({"PATH": real_server_path()}),
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    updates = json.loads(done.stdout)["updates"]
    check("".join(one["content"]["text"] for one in updates if one["sessionUpdate"] == "agent_message_chunk"))


def test_porter_explains_a_name_by_its_meaning_where_a_server_can_tell(portico: Portico) -> None:
    prepare(portico)
    (portico.workspace / "other.py").write_text("def meet(thing):\n    return thing.greet()\n")
    by_name = portico.run("exec", "--agent", "porter", "/explain greet")
    assert "is used 3 times in 2 files" in by_name.text, by_name.text
    by_meaning = portico.run(
        "exec", "--agent", "porter", "/explain greet", environ={"PATH": real_server_path()}
    )
    assert "is used 2 times in 1 file" in by_meaning.text, by_meaning.text
    assert "other.py" not in by_meaning.text


def test_a_proposal_says_what_problems_it_adds_and_solves_before_it_is_applied(portico: Portico) -> None:
    (portico.workspace / "old.py").write_text("nosuch()\n")
    (portico.workspace / "shared.py").write_text(
        "def double(x: int) -> int:\n    return x * 2\n\n\nleft_alone = 1\n"
    )
    (portico.workspace / "user.py").write_text("from shared import double\n\nprint(double(2))\n")
    (portico.workspace / "bystander.py").write_text("from shared import left_alone\n\nprint(left_alone)\n")
    (portico.workspace / "notes.txt").write_text("plain\n")
    path = {"PATH": real_server_path()}
    writes = [
        {"write": {"path": "old.py", "content": "print(1)\n"}},
        {"write": {"path": "new.py", "content": 'count: int = "three"\n'}},
        {"write": {"path": "notes.txt", "content": "plainer\n"}},
        {
            "write": {
                "path": "shared.py",
                "content": "def double(x: str) -> str:\n    return x * 2\n\n\nleft_alone = 1\n",
            }
        },
    ]
    assert portico.exec(writes, "--mode", "proposal", environ=path).code == 0
    checked = portico.run("review", "show", "--problems", "--api", environ=path)
    (found,) = json.loads(checked.text)["problems"]
    files = {one["path"]: one for one in found["files"]}
    assert set(files) == {"new.py", "old.py", "shared.py", "user.py"}
    (broken,) = files["user.py"]["added"]
    assert (broken["line"], broken["severity"]) == (3, "error"), "in a file that is not in the proposal"
    (added,), (removed,) = files["new.py"]["added"], files["old.py"]["removed"]
    assert (added["line"], added["severity"]) == (1, "error")
    assert "nosuch" in removed["message"]
    assert "removed" not in files["new.py"]
    assert "added" not in files["old.py"]
    assert "notes.txt" in found["note"], "why it was not checked"
    without = portico.run("review", "show", "--problems", environ={"PATH": "/usr/bin:/bin"})
    assert "No language server is installed for this folder." in without.text
