"""Coverage of rules, reach of denials, and what neither ever does."""

import ntpath
import os
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from portico.acp import _schema as acp
from portico.conductor.permissions.action import MAX_PATHS, RequestedAction, requested_action
from portico.conductor.permissions.policy import KINDS, PermissionRule, escape_pattern, parse_rule
from portico.conductor.permissions.suggested_rule import suggested_rule
from portico.conductor.permissions.tool_input import ToolCommand
from portico.domain import codecs
from portico.domain.errors import InvalidInput

WORKSPACE = "/work/project"
SHELL = ";&|<>$`(){}\\\n\r\0\x1b"
WORDS = st.text(st.characters(blacklist_categories=["Cs"]), max_size=30)
PATH_PARTS = st.lists(
    st.sampled_from(["src", "..", ".", "a.py", "deep", "", "etc", "project", "work", "x y", "a\\b", "*"]),
    max_size=8,
)
KIND = st.sampled_from([kind for kind in KINDS if kind not in ("tool", "all")])


def command(line: object, title: str = "Run it", **more: object) -> RequestedAction:
    raw_input = None if line is None else {"command": line, **more}
    return deed("execute", title=title, raw_input=raw_input)


def deed(
    kind: str | None, *paths: str, title: str = "x", workspace: str = WORKSPACE, **call: object
) -> RequestedAction:
    fields = {
        "toolCallId": "c",
        "kind": kind,
        "title": title,
        "locations": [{"path": path} for path in paths],
    }
    update = _update({**fields, **{_camel(name): value for name, value in call.items()}})
    return requested_action(update, agent="fake", workspace=workspace)


def _update(fields: dict[str, object]) -> acp.ToolCallUpdate:
    return codecs.convert(fields, acp.ToolCallUpdate)


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.title() for word in rest)


@pytest.mark.parametrize(
    ("rule", "line", "covered"),
    [
        ("execute", "rm -rf /", True),
        ("all", "rm -rf /", True),
        ("edit", "pytest", False),
        ("execute:pytest*", "pytest -x tests", True),
        ("execute:pytest*", "rm pytest", False),
        ("execute:git status", "git status", True),
        ("execute:git status", "git statuses", False),
        ("execute:git diff *", "git diff", True),
        ("execute:git diff *", "git diff HEAD~1", True),
        ("execute:git diff *", "git difftool -x rm", False),
        ("execute:make | tee log", "make | tee log", True),
        ("execute:make*", "make | tee log", False),
        ("execute:rm *.pyc", "rm *.pyc", True),
        ("execute:rm [*].pyc", "rm *.pyc", True),
        ("execute:rm [*].pyc", "rm a.pyc", False),
        ("execute:ls [*] | wc", "ls * | wc", True),
        ("fake/execute", "x", True),
        ("other/execute", "x", False),
    ],
)
def test_a_rule_covers_the_commands_it_is_written_for(rule: str, line: str, covered: bool) -> None:
    assert parse_rule(rule).covers(command(line)) == covered


@pytest.mark.parametrize("line", ["pytest" + mark + "rm -r ." for mark in SHELL] + ["pytest -k '$(x)'"])
def test_a_pattern_never_stretches_over_shell_syntax(line: str) -> None:
    assert not parse_rule("execute:pytest*").covers(command(line))
    assert parse_rule("execute:pytest*").touches(command(line))


@given(before=WORDS, mark=st.sampled_from(SHELL), after=WORDS)
def test_no_command_with_shell_syntax_is_covered_by_a_pattern(before: str, mark: str, after: str) -> None:
    for pattern in ("pytest*", "*", "**", "pytest *", "?ytest*", "[p]ytest*"):
        assert not parse_rule(f"execute:{pattern}").covers(command(f"pytest{before}{mark}{after}"))


@pytest.mark.parametrize(
    ("beside", "covered"),
    [
        ({"cwd": WORKSPACE}, True),
        ({"cwd": f"{WORKSPACE}/deep"}, True),
        ({"workdir": "deep"}, True),
        ({"cwd": None, "env": {}}, True),
        ({"cwd": "/work/other"}, False),
        ({"cwd": f"{WORKSPACE}/../other"}, False),
        ({"workingDirectory": ".."}, False),
        ({"working_dir": "~/project"}, False),
        ({"cwd": ["/"]}, False),
        ({"env": {"LD_PRELOAD": "evil.so"}}, False),
    ],
)
def test_what_was_said_of_a_command_is_not_said_of_it_in_another_folder_or_with_other_variables(
    beside: dict[str, object], covered: bool
) -> None:
    found = deed("execute", raw_input={"command": "make test", **beside})
    for pattern in ("make test", "make *", "*"):
        assert parse_rule(f"execute:{pattern}").covers(found) == covered
        assert parse_rule(f"execute:{pattern}").touches(found)
    assert parse_rule("execute").covers(found)
    assert not parse_rule("execute:rm *").touches(found)
    assert (suggested_rule(found) is not None) == covered


def test_a_folder_that_is_reached_through_a_link_is_where_it_leads(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "project")
    (tmp_path / "project" / "out").symlink_to(tmp_path)
    told = {"command": "make", "cwd": str(tmp_path / "project")}
    inside = deed("execute", workspace=str(tmp_path / "link"), raw_input=told)
    outside = deed(
        "execute", workspace=str(tmp_path / "project"), raw_input={"command": "make", "cwd": "out"}
    )
    assert parse_rule("execute:make").covers(inside)
    assert not parse_rule("execute:make").covers(outside)


@pytest.mark.parametrize(
    ("raw_input", "understood"),
    [
        ({"command": ["pytest", "-x"]}, "pytest -x"),
        ({"command": "pytest", "args": ["-x", "a; b"]}, "pytest -x a; b"),
        ({"cmd": "pytest"}, "pytest"),
        ({"command": "", "cwd": "/"}, "Run it"),
        ({"cwd": "/"}, "Run it"),
        (None, "Run it"),
        ({"description": "Run them all", "timeout": 5}, "Run it"),
        ("pytest", "pytest"),
        (["pytest", "-x"], "pytest -x"),
        ({"script": "rm -rf /"}, None),
        ({"command": "", "args": ["rm"]}, None),
        (7, None),
        ({"command": "rm -rf /", "args": "x"}, None),
        ({"command": ["rm", 7]}, None),
        ({"command": {"shell": "rm"}}, None),
    ],
)
def test_a_command_is_what_the_tool_gets_and_not_what_the_agent_calls_it(
    raw_input: object, understood: str | None
) -> None:
    found = deed("execute", title="`Run it`", raw_input=raw_input)
    assert [command.text for command in found.commands] == ([] if understood is None else [understood])
    if understood is None:
        assert not parse_rule("execute:*").covers(found)
        assert parse_rule("execute:anything").touches(found)


@pytest.mark.parametrize(
    ("rule", "paths", "covered"),
    [
        ("edit:src/**", ["src/deep/one.py"], True),
        ("edit:./src/**", ["src/deep/one.py"], True),
        ("edit:src/**", ["src/one.py", "tests/two.py"], False),
        ("edit:src/**", ["src/../secret.py"], False),
        ("edit:src/**", ["/etc/passwd"], False),
        ("edit:src/**", ["/work/project-evil/src/a.py"], False),
        ("edit:src/**", ["file:///work/project/src/a.py"], True),
        ("edit:**", ["file:///etc/passwd", "https://example.org"], True),
        ("edit:*", ["file:///etc/passwd"], False),
        ("edit:*", ["https://example.org/a"], False),
        ("edit:*.py", ["/etc/x.py"], False),
        ("edit:**", ["/etc/passwd"], True),
        ("edit:/etc/*", ["/etc/passwd"], True),
        ("edit:/etc/*", ["//etc/passwd"], True),
        ("edit:/work/project/src/*", ["src/a.py"], True),
        ("edit:src/(group)/page.tsx", ["src/(group)/page.tsx"], True),
        ("edit:src/**", ["src/(group)/page.tsx"], True),
        ("edit:src/**", [], False),
        ("edit", [], True),
        ("read:src/**", ["src/a.py"], False),
        ("all:src/**", ["src/a.py"], True),
    ],
)
def test_a_rule_covers_a_request_when_it_covers_every_path_of_it(
    rule: str, paths: list[str], covered: bool
) -> None:
    assert parse_rule(rule).covers(deed("edit", *paths)) == covered


@given(
    parts=PATH_PARTS,
    rooted=st.booleans(),
    pattern=st.sampled_from(["*", "src/**", "**/*.py", "*.py", "[!x]*", "?*"]),
)
def test_a_relative_rule_covers_nothing_outside_the_workspace(
    parts: list[str], rooted: bool, pattern: str
) -> None:
    path = ("/" if rooted else "") + "/".join(parts)
    # The oracle is another one's code, but it takes two slashes at the start for something else than one.
    real = "/" + os.path.normpath(os.path.join(WORKSPACE, path)).lstrip("/")  # noqa: PTH118
    inside = real == WORKSPACE or real.startswith(WORKSPACE + "/")
    assert inside or not parse_rule(f"edit:{pattern}").covers(deed("edit", path))


@given(parts=PATH_PARTS, drive=st.sampled_from(["", "C:", "c:", "D:", "\\\\server\\share"]))
def test_nor_does_it_on_windows(parts: list[str], drive: str) -> None:
    path = "\\".join([drive, *parts] if drive else parts)
    real = ntpath.normpath(ntpath.join("C:\\work\\project", path)).casefold()
    inside = real == "c:\\work\\project" or real.startswith("c:\\work\\project\\")
    assume(not inside)
    assert not parse_rule("edit:*").covers(deed("edit", path, workspace="C:\\work\\project"))


def test_paths_of_windows_are_relative_to_their_workspace() -> None:
    found = deed("edit", "c:\\Work\\project\\src\\a.py", "src/b.py", workspace="C:\\work\\project\\")
    assert found.paths == ("src/a.py", "src/b.py")
    assert parse_rule("edit:src\\*").covers(found)
    assert parse_rule("edit:C:\\work\\project\\SRC\\*").touches(found)


def test_a_backslash_is_no_separator_where_it_is_part_of_a_name() -> None:
    assert deed("edit", "/work/project/../foo\\..\\project/a").paths == ("/work/foo\\..\\project/a",)


def test_a_link_that_leaves_the_workspace_is_outside(tmp_path: Path) -> None:
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    workspace.mkdir()
    outside.mkdir()
    (workspace / "link").symlink_to(outside)
    (workspace / "plain").mkdir()
    through = deed("edit", f"{workspace}/link/a.py", workspace=str(workspace))
    assert not parse_rule("edit:link/**").covers(through)
    assert suggested_rule(through) is None
    assert parse_rule(f"edit:{outside}").touches(through)
    assert parse_rule("edit:plain/**").covers(deed("edit", "plain/a.py", workspace=str(workspace)))


def test_a_workspace_that_is_reached_through_a_link_is_still_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    workspace = str(tmp_path / "link")
    assert deed("edit", f"{workspace}/a.py", workspace=workspace).paths == ("a.py",)
    assert deed("edit", "/link/a.py", workspace="/link").paths == ("a.py",)


@pytest.mark.parametrize(
    ("rule", "paths", "touched"),
    [
        ("edit:*.env", ["a.py", "secret.env"], True),
        ("edit:*.env", ["SECRET.ENV"], True),
        ("edit:*.env", ["a.py"], False),
        ("edit:*.env", [], True),
        ("edit:.git", [".git/hooks/x"], True),
        ("edit:secrets/", ["secrets/deep/key"], True),
        ("edit:./secrets", ["secrets/deep/key"], True),
        ("edit:/etc", ["/etc/passwd"], True),
        ("edit:/work/project/src", ["src/a.py"], True),
        ("edit:src", ["srcs/a.py"], False),
        ("delete", ["a.py"], False),
        ("other/edit", ["a.py"], False),
    ],
)
def test_a_denial_need_only_touch_one_path(rule: str, paths: list[str], touched: bool) -> None:
    assert parse_rule(rule).touches(deed("edit", *paths)) == touched


def test_a_request_about_too_many_paths_is_covered_by_no_pattern() -> None:
    crowd = deed("edit", *(f"src/{number}.py" for number in range(MAX_PATHS + 1)))
    assert not parse_rule("edit:src/**").covers(crowd)
    assert parse_rule("edit:*.env").touches(crowd)


def test_a_diff_counts_as_a_path() -> None:
    diff = [{"type": "diff", "path": "/etc/hosts", "newText": "x"}]
    assert parse_rule("edit:/etc/**").touches(deed("edit", "a.py", content=diff))


def test_what_is_known_by_its_title_alone_is_covered_by_that_title_and_nothing_like_it() -> None:
    fetch = deed("fetch", title="Fetch https://example.org/*")
    assert parse_rule("fetch:Fetch https://example.org/[*]").covers(fetch)
    assert not parse_rule("fetch:Fetch*").covers(fetch)
    assert not parse_rule("edit:Edit").covers(deed("edit", title="Edit"))
    assert parse_rule("fetch:*").touches(fetch)


@pytest.mark.parametrize("text", ["", "paint", "edit:", "execute:", ":x", "all :x", "Edit", "/edit", "edit/"])
def test_what_is_no_rule_is_refused_with_the_words_that_are(text: str) -> None:
    with pytest.raises(InvalidInput, match="not a permission rule") as refused:
        parse_rule(text)
    assert "execute:pytest*" in str(refused.value.suggestion)


@given(
    kind=st.sampled_from(KINDS), pattern=st.none() | WORDS.filter(bool), agent=st.none() | st.just("claude")
)
def test_a_rule_reads_as_it_is_written(kind: str, pattern: str | None, agent: str | None) -> None:
    rule = PermissionRule(kind, pattern, agent)
    assert parse_rule(rule.text) == rule


@given(text=WORDS, other=WORDS)
def test_an_escaped_pattern_covers_its_text_and_no_other(text: str, other: str) -> None:
    assume(text and other and text != other)
    rule = PermissionRule("execute", escape_pattern(text))
    assert rule.covers(
        RequestedAction(agent="a", workspace="/", kind="execute", title="", commands=(ToolCommand(text),))
    )
    if not escape_pattern(text).endswith(" *"):
        assert not rule.covers(
            RequestedAction(
                agent="a", workspace="/", kind="execute", title="", commands=(ToolCommand(other),)
            )
        )


class TestSuggestions:
    @pytest.mark.parametrize(
        ("line", "rule"),
        [
            ("pytest -x tests", "execute:pytest *"),
            ("pytest", "execute:pytest *"),
            ("pytest; rm -r .", "execute:pytest; rm -r ."),
            ("pytest-evil", "execute:pytest-evil"),
            ("npm test -- --watch", "execute:npm test *"),
            ("git push --force", "execute:git push --force"),
            ("git", "execute:git"),
            ("rm -rf build", "execute:rm -rf build"),
            ("rm *.pyc", "execute:rm [*].pyc"),
            ("python -m pytest", "execute:python -m pytest"),
            ("x" * 600, None),
        ],
    )
    def test_a_command_is_offered_as_narrow_as_it_makes_sense(self, line: str, rule: str | None) -> None:
        offered = suggested_rule(command(line))
        assert (offered and offered.text) == rule

    @pytest.mark.parametrize(
        ("paths", "rule"),
        [
            (["src/a.py"], "edit:src/a.py"),
            (["src/a.py", "src/a.py"], "edit:src/a.py"),
            (["src/[id].py"], "edit:src/[[]id].py"),
            (["src/a.py", "src/deep/b.py"], "edit:src/**"),
            (["src/a.py", "b.py"], None),
            (["src/a.py", "/etc/hosts"], None),
            (["/etc/hosts"], "edit:/etc/hosts"),
            ([], None),
        ],
    )
    def test_a_file_is_offered_alone_and_several_by_their_folder(
        self, paths: list[str], rule: str | None
    ) -> None:
        offered = suggested_rule(deed("edit", *paths))
        assert (offered and offered.text) == rule

    def test_other_tools_are_offered_by_their_title(self) -> None:
        offered = suggested_rule(deed("other", title="query *"))
        assert offered is not None
        assert offered.text == "other:query [*]"
        assert suggested_rule(deed("other", title="")) is None

    @given(kind=KIND, title=WORDS, line=st.none() | WORDS, parts=st.lists(PATH_PARTS, max_size=3))
    def test_whatever_is_offered_covers_what_was_asked_and_never_a_whole_kind(
        self, kind: str, title: str, line: str | None, parts: list[list[str]]
    ) -> None:
        found = deed(kind, *map("/".join, parts), title=title, raw_input=line and {"command": line})
        offered = suggested_rule(found)
        if offered is not None:
            assert offered.covers(found)
            assert parse_rule(offered.text) == offered
            assert offered.pattern not in (None, "*", "**")
