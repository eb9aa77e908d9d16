"""`portico race`: one prompt to several agents or models, each with its own proposal, and a table of the results."""

import argparse
import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import msgspec

from portico.app.host import Host, open_host
from portico.cli.arguments import CommandParser, print_json, require_folder, require_utf8, seconds
from portico.domain import codecs
from portico.domain.errors import InvalidInput
from portico.domain.ids import SessionId
from portico.doors.terminal.input.workspace_files import list_files
from portico.doors.terminal.render.race_table import RaceResult, print_diffs, print_race
from portico.review.local_reviews import LocalReviews
from portico.sessions.board import SessionBoard
from portico.sessions.session_list import SessionList

_DESCRIPTION = """Send one prompt to several agents or models at once, and compare what they propose.

  portico race "fix the failing test" --agent claude --agent codex --allow edit --test "pytest -q"
  portico race "shorten README.md" --agent porter --model small --model big

Each gets its own session in proposal mode, so nothing is written to your files. With --test, a copy of the
folder gets each proposal, and the command runs there, with what the agents wrote and without a sandbox. Apply what you like, from one or several, with:
  portico review apply --session ID [PATH] [--hunk ID]
"""
_FEWEST = 2
_NONE_COMPLETED = 2


def run(arguments: Sequence[str]) -> int:
    parser = CommandParser("race", _DESCRIPTION)
    parser.add_argument("prompt", help="prompt to send to each")
    parser.add_argument("--agent", metavar="NAME", action="append", default=[], help="agent; may be repeated")
    parser.add_argument(
        "--model", metavar="NAME", action="append", default=[], help="model of each agent; may be repeated"
    )
    parser.add_argument("--cwd", metavar="DIR", default=".", help="folder to work in (default: this one)")
    for flag, what in (("--allow", "allow"), ("--deny", "deny")):
        parser.add_argument(
            flag,
            metavar="RULE",
            action="append",
            default=[],
            help=f"permission rule to {what}; may be repeated",
        )
    parser.add_argument("--test", metavar="CMD", help="command that tests each result (exit code 0: passed)")
    parser.add_argument("--diff", action="store_true", help="print the diffs side by side")
    parser.add_argument("--timeout", metavar="SECONDS", type=seconds, help="time limit of each")
    flags = parser.parse(arguments)
    racers = list(product(flags.agent or [None], flags.model or [None]))
    if len(racers) < _FEWEST:
        raise InvalidInput(
            "A race needs two agents or two models.", suggestion="Example: --agent claude --agent codex"
        )
    results = asyncio.run(_race(flags, racers, os.environ))
    if flags.api:
        print_json(results=results, count=len(results))
    else:
        print_race(results, has_tests=flags.test is not None)
        if flags.diff:
            print_diffs(results)
        print("Look at one with: portico review show SESSION --diff")
        print("Take from one or several with: portico review apply --session SESSION [PATH] [--hunk ID]")
    return 0 if any(one.status == "completed" for one in results) else _NONE_COMPLETED


async def _race(
    flags: argparse.Namespace, racers: Sequence[tuple[str | None, str | None]], environ: Mapping[str, str]
) -> list[RaceResult]:
    folder = require_folder(flags.cwd)
    ran = await asyncio.gather(*(_run_one(flags, folder, *racer, environ) for racer in racers))
    async with open_host(environ) as host:
        return [await _judge(host, flags.test, folder, one, environ) for one in ran]


async def _run_one(
    flags: argparse.Namespace,
    folder: Path,
    agent: str | None,
    model: str | None,
    environ: Mapping[str, str],
) -> RaceResult:
    """Run the prompt as `portico exec` does, in a process of its own."""
    chosen = [
        word for name, value in (("--agent", agent), ("--model", model)) if value for word in (name, value)
    ]
    rules = [word for rule in flags.allow for word in ("--allow", rule)]
    rules += [word for rule in flags.deny for word in ("--deny", rule)]
    limit = [] if flags.timeout is None else ["--timeout", str(flags.timeout)]
    prompt = require_utf8(flags.prompt, "The prompt")
    words = (
        "exec",
        "--api",
        "--mode",
        "proposal",
        "--cwd",
        str(folder),
        *chosen,
        *rules,
        *limit,
        "--",
        prompt,
    )
    output, _ = await _output((sys.executable, "-m", "portico", *words), folder, environ)
    told: dict[str, Any] = codecs.decode_json(output or b"{}")
    return RaceResult(
        agent=agent or "default",
        model=model,
        session_id=told.get("sessionId"),
        status=told.get("status", "failed"),
        error=told.get("error"),
        duration_ms=told.get("durationMs", 0),
    )


async def _judge(
    host: Host, test: str | None, folder: Path, ran: RaceResult, environ: Mapping[str, str]
) -> RaceResult:
    """Add what the log knows: size and cost; and try the result, if a command is given."""
    summary = None if ran.session_id is None else await host.store.summary(SessionId(ran.session_id))
    if summary is None:
        return ran
    reviews = LocalReviews(host.service, host.ports, host.reviews)
    sessions = SessionList(host.service, host.store, host.clock)
    board = SessionBoard(sessions, host.store, reviews)
    card = await board.card(await sessions.entry(summary))
    proposals = await reviews.proposals(summary.session_id)
    files = [file for proposal in proposals for file in proposal.files]
    passed = None
    if test is not None and files:
        whole = all(file.diff and not file.shortened for file in files)
        patch = "".join(file.diff for file in files)
        passed = await _try(test, folder, patch, environ) if whole else None
    return msgspec.structs.replace(
        ran,
        agent=summary.agent,
        files=card.changes.files,
        added=card.changes.added,
        removed=card.changes.removed,
        cost=card.cost,
        currency=card.currency,
        tests=passed,
        diffs={file.path: file.diff for file in files},
    )


async def _try(test: str, folder: Path, patch: str, environ: Mapping[str, str]) -> bool:
    """Whether a command succeeds in a copy of the folder that has the patch."""
    place = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="portico-race-"))
    copy, patch_file = place / folder.name, place / "proposal.patch"
    try:
        await asyncio.to_thread(_copy_files, folder, copy)
        await asyncio.to_thread(patch_file.write_text, patch)
        _, code = await _output(("git", "apply", "--whitespace=nowarn", str(patch_file)), copy, environ)
        if code == 0:
            _, code = await _output(("sh", "-c", test), copy, environ)
        return code == 0
    finally:
        await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)


def _copy_files(folder: Path, copy: Path) -> None:
    copy.mkdir()
    for name in list_files(folder):
        source, target = folder / name, copy / name
        if source.is_file() and not source.is_symlink():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)


async def _output(command: tuple[str, ...], cwd: Path, environ: Mapping[str, str]) -> tuple[bytes, int]:
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=cwd,
        env={**environ},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        output, _ = await process.communicate()
    except asyncio.CancelledError:
        process.terminate()
        await process.wait()
        raise
    return output, process.returncode or 0
