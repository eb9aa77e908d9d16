"""Packages of providers: imported by one thread at a time, and blamed only for what they did."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from portico.domain.errors import InvalidInput
from portico.porter.models.optional_imports import import_guard

PROGRAM = Path(__file__).with_name("build_in_threads.py")


def test_two_conversations_that_begin_at_once_do_not_import_into_each_other() -> None:
    printed = subprocess.run(
        [sys.executable, PROGRAM], capture_output=True, text=True, timeout=110, check=True
    )
    # One of the threads imports everything before the other imports what is left.
    assert re.fullmatch(r"a+b*|b+a*", printed.stdout.strip())


def test_a_package_that_is_missing_is_named() -> None:
    with pytest.raises(
        InvalidInput, match=r"needs the package no_such_package, which is not installed"
    ) as raised:
        _import("import no_such_package.models")
    assert raised.value.details.suggestion == "Install it with: pip install 'portico[models]'"


def test_the_package_behind_the_advice_of_another_is_the_one_that_is_named() -> None:
    with pytest.raises(InvalidInput, match=r"needs the package no_such_package, which is not installed"):
        _import(
            "try:\n    import no_such_package\n"
            "except ImportError as error:\n    raise ImportError('Please install `openai`') from error"
        )


def test_a_package_that_does_not_load_is_not_called_missing() -> None:
    with pytest.raises(
        InvalidInput, match=r"fails to import: cannot import name 'Missing' from 'json'"
    ) as raised:
        _import("from json import Missing")
    assert "not installed" not in raised.value.message


def test_a_failed_import_leaves_the_way_free() -> None:
    for _ in range(2):
        with pytest.raises(InvalidInput):
            _import("import no_such_package")
    _import("import json")


def _import(line: str) -> None:
    with import_guard("The provider x", "models"):
        exec(line, {})
