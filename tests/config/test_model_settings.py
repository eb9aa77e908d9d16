"""Models and budgets in the settings: who may choose them, and what is written back."""

import json
from pathlib import Path

import pytest

from portico.config.model_settings import Allowance
from portico.config.settings import Settings, load_settings
from portico.domain.errors import InvalidInput


def load(tmp_path: Path, user: object, project: object) -> Settings:
    config, workspace = tmp_path / "config", tmp_path / "workspace"
    for path, content in ((config, user), (workspace / ".portico", project)):
        path.mkdir(parents=True)
        (path / "settings.json").write_text(json.dumps(content))
    return load_settings(config, workspace)


def test_a_workspace_may_ask_for_a_lower_budget_and_never_for_a_higher_one(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        {"budgets": {"turn": {"dollars": 1.0, "tokens": 1000}, "day": {"dollars": 10}}},
        {"budgets": {"turn": {"dollars": 5.0, "tokens": 10}, "session": {"tokens": 7}}},
    )
    assert settings.budgets.turn == Allowance(dollars=1.0, tokens=10)
    assert settings.budgets.session == Allowance(tokens=7)
    assert settings.budgets.day == Allowance(dollars=10)


def test_a_workspace_that_is_trusted_chooses_a_model_only_where_the_user_did_not(tmp_path: Path) -> None:
    theirs = {"model": "openai:theirs", "models": {"theirs": {"address": "http://127.0.0.1:1/v1"}}}
    trusted = {"trustedWorkspaces": [str(tmp_path / "workspace")]}
    settings = load(tmp_path, trusted, theirs)
    assert settings.model == "openai:theirs"
    assert "theirs" in settings.models
    (tmp_path / "config" / "settings.json").write_text(json.dumps({**trusted, "model": "openai:mine"}))
    assert load_settings(tmp_path / "config", tmp_path / "workspace").model == "openai:mine"


def test_a_workspace_that_is_not_trusted_chooses_neither_model_nor_address(tmp_path: Path) -> None:
    theirs = {"model": "openai:theirs", "models": {"openai": {"address": "http://127.0.0.1:1/v1"}}}
    settings = load(tmp_path, {}, theirs)
    assert settings.model is None
    assert settings.models == {}


def test_a_misspelt_part_of_a_price_is_named(tmp_path: Path) -> None:
    wrong = {"models": {"mine": {"models": {"qwen": {"price": {"input": 1, "outptu": 2}}}}}}
    with pytest.raises(InvalidInput, match="outptu"):
        load(tmp_path, wrong, {})
