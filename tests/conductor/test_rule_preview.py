"""Details of a permission request before the answer: risks, the wider rule, and the preview of a rule."""

import pytest

from portico.conductor.permissions.risks import risks_of
from portico.conductor.permissions.rule_preview import preview_rule
from portico.conductor.permissions.suggested_rule import wider_rule
from portico.domain.errors import InvalidInput
from portico.domain.events import PermissionRequested
from portico.domain.values import Location
from tests.conductor.test_permission_policy import WORKSPACE, command, deed

FILES = ("a.py", "src/b.py", "src/c.py", ".git/config")


@pytest.mark.parametrize(
    ("line", "risks"),
    [
        ("pytest -q", ()),
        ("cat /work/project/a.py", ()),
        ("ls > /dev/null", ()),
        ("cat /etc/passwd", ("outside_workspace",)),
        ("cp a.py ../b.py", ("outside_workspace",)),
        ("curl https://example.com", ("network",)),
        ("git status", ()),
        ("git push origin main", ("network",)),
        ("cd src && npm install left-pad", ("network",)),
        ("scp a.py host:/tmp ; cat ~/.ssh/id", ("outside_workspace", "network")),
    ],
)
def test_a_command_shows_what_it_reaches(line: str, risks: tuple[str, ...]) -> None:
    assert risks_of(command(line)) == risks


def test_a_file_outside_and_an_address_are_risks() -> None:
    assert risks_of(deed("edit", "/etc/hosts")) == ("outside_workspace",)
    assert risks_of(deed("edit", f"{WORKSPACE}/a.py")) == ()
    assert risks_of(deed("fetch", raw_input={"url": "https://example.com"})) == ("network",)


def test_the_wider_rule_covers_the_kind_in_the_workspace_only() -> None:
    rule = wider_rule(deed("edit", f"{WORKSPACE}/src/a.py"))
    assert rule is not None
    assert rule.text == "edit:*"
    assert rule.covers(deed("edit", f"{WORKSPACE}/other/b.py"))
    assert not rule.covers(deed("edit", "/etc/hosts"))
    assert wider_rule(deed("edit", "/etc/hosts")) is None
    assert wider_rule(command("pytest; rm -r .")) is None


def _asked(path: str) -> PermissionRequested:
    return PermissionRequested(
        request_id="p1",
        tool_id="t",
        title="Edit",
        options=(),
        tool_kind="edit",
        locations=(Location(path=path),),
    )


def test_a_preview_names_the_files_and_says_whether_the_request_is_covered() -> None:
    asked = _asked(f"{WORKSPACE}/src/b.py")
    preview = preview_rule("edit:src/**", asked, agent="fake", workspace=WORKSPACE, files=FILES)
    assert preview.covers_request
    assert preview.files == ("src/b.py", "src/c.py")
    other = preview_rule("edit:a.py", asked, agent="fake", workspace=WORKSPACE, files=FILES)
    assert not other.covers_request
    assert other.files == ("a.py",)


def test_a_text_that_is_no_rule_is_refused() -> None:
    with pytest.raises(InvalidInput):
        preview_rule("everything", _asked("a.py"), agent="fake", workspace=WORKSPACE, files=())
