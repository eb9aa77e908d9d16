"""The pages name what there is: every command, every kind of event."""

import json
import re
from pathlib import Path

from portico.cli.main import COMMANDS
from tests.support.program import Portico

ROOT = Path(__file__).parents[2]
ONLY_IN_A_STREAM = {"result", "done"}


def test_the_table_of_commands_has_every_command() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"`portico {name}`" not in readme] == []


def test_the_page_about_sessions_has_every_kind_of_event(portico: Portico) -> None:
    schema = json.loads(portico.run("schema", "stream").out)
    kinds = set(re.findall(r'"type": {"const": "(\w+)"', json.dumps(schema))) - ONLY_IN_A_STREAM
    page = (ROOT / "docs" / "concepts" / "sessions.md").read_text(encoding="utf-8")
    assert len(kinds) > 20
    assert sorted(kind for kind in kinds if f"`{kind}`" not in page) == []
