"""The flag `--sandbox`, passed on in the environment."""

import argparse
from collections.abc import Mapping
from typing import get_args

from portico.config.sandbox_settings import LEVEL_VARIABLE
from portico.domain.values import SandboxLevel


def add_sandbox_flag(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--sandbox",
        choices=get_args(SandboxLevel),
        help="sandbox for agents (default: the setting sandbox.level, else workspace for "
        "sessions that are read-only or work in a copy)",
    )


def environ_with_sandbox(flags: argparse.Namespace, environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of this run, with the level of the flag in it."""
    return dict(environ) if flags.sandbox is None else {**environ, LEVEL_VARIABLE: flags.sandbox}
