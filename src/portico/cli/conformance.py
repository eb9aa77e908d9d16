"""`portico conformance`: tests whether a program follows ACP."""

import argparse
import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from portico.cli.arguments import CommandGroup, CommandParser
from portico.conformance.agent_cases.catalog import AGENT_CASES
from portico.conformance.agent_trial import PROMPT_NAMES, AgentTrial, TrialOptions
from portico.conformance.case import STATUSES, Case, CaseResult, Level
from portico.conformance.client_cases.catalog import CLIENT_CASES
from portico.conformance.client_program import ClientProgram
from portico.conformance.client_trial import ClientTrial
from portico.conformance.proxy_cases import PROXY_CASES
from portico.conformance.proxy_trial import DIALECTS, ProxyTrial
from portico.conformance.reports import describe_frame, read_baseline, run_object, write_baseline, write_junit
from portico.conformance.runner import AnyTrial, Run, run_cases
from portico.conformance.subject import Program
from portico.domain.errors import InvalidInput
from portico.doors.terminal.sanitizer import clean_line

CATALOG: Mapping[str, Sequence[Case[Any]]] = {
    "agent": AGENT_CASES,
    "client": CLIENT_CASES,
    "proxy": PROXY_CASES,
}
"""All cases, by the kind of program they are for."""
_EXAMPLES = """examples:
  portico conformance agent -- my-agent --acp
  portico conformance agent --html report.html --junit report.xml -- my-agent --acp
  portico conformance agent --baseline known.txt -- my-agent --acp
  portico conformance client -- my-client --agent {agent} {prompt}
  portico conformance proxy -- my-proxy
  portico conformance list

"""
_TIMEOUT = 20.0
_START_TIMEOUT = 60.0
_CANCEL_SIGNALS = ("SIGINT", "SIGTERM", "SIGUSR1")
_PROMPTS = {
    "turn": "Reply with the single word OK and do nothing else.",
    "cancel": "Count from 1 to 1000, one number on each line, and do nothing else.",
    "read": "Read the file {folder}/conformance.txt and repeat its first line.",
    "terminal": "Run the command `echo conformance` in a terminal and repeat what it prints.",
    "permission": "Write the word OK to the file {folder}/written.txt.",
    "question": "Ask me for my favourite colour with a form, and repeat the answer.",
}
_MARKS = {
    "passed": "pass",
    "failed": "FAIL",
    "known failure": "known",
    "blocked": "BLOCK",
    "not exercised": "–",
    "not announced": "–",
}


def run(arguments: Sequence[str]) -> int:
    words = list(arguments)
    command = words[words.index("--") + 1 :] if "--" in words else []
    own = words[: words.index("--")] if "--" in words else words
    group = CommandGroup(
        "conformance", "Conformance tests for ACP agents, clients and proxies.", examples=_EXAMPLES
    )
    agent = group.add("agent", "test an agent; its command comes after --", partial(_test_agent, command))
    client = group.add(
        "client",
        "test a client; its command comes after --",
        partial(_test_client, command),
    )
    proxy = group.add("proxy", "test a proxy; its command comes after --", partial(_test_proxy, command))
    for parser in (agent, client, proxy):
        _add_flags(parser)
    _add_agent_flags(agent)
    client.add_argument(
        "--cancel-signal",
        choices=_CANCEL_SIGNALS,
        help="signal that makes the client cancel its turn (default: its script does)",
    )
    proxy.add_argument(
        "--dialect", choices=DIALECTS, default=DIALECTS[0], help="spelling of the methods of proxies"
    )
    group.add("list", "list the cases, each with its rule and its source", _list)
    return group.run(own)


def _add_flags(parser: CommandParser) -> None:
    limits = (
        ("--timeout", _TIMEOUT, "of a case"),
        ("--start-timeout", _START_TIMEOUT, "until initialize is answered"),
    )
    for flag, default, what in limits:
        text = f"longest time {what} (default: {default:g})"
        parser.add_argument(flag, metavar="SECONDS", type=float, default=default, help=text)
    parser.add_argument(
        "--protocol-version",
        type=int,
        choices=(1, 2),
        default=1,
        help="version of ACP to test (default: 1; there are no cases for the draft of version 2 yet)",
    )
    parser.add_argument("--junit", metavar="FILE", type=Path, help="JUnit file to write")
    parser.add_argument(
        "--html", metavar="FILE", type=Path, help="report to write, with the conversations drawn"
    )
    parser.add_argument("--baseline", metavar="FILE", type=Path, help="file of known failures")
    parser.add_argument("--write-baseline", metavar="FILE", type=Path, help="file of known failures to write")
    parser.add_argument(
        "--case",
        metavar="ID",
        action="append",
        default=[],
        help="case or family to try (repeatable; default: all)",
    )


def _add_agent_flags(parser: CommandParser) -> None:
    parser.add_argument(
        "--prompt",
        metavar="NAME=TEXT",
        action="append",
        default=[],
        help=f"prompt of a turn: {', '.join(PROMPT_NAMES)} (repeatable)",
    )
    parser.add_argument("--auth-method", metavar="ID", help="authentication method to sign in with")
    parser.add_argument("--allow-logout", action="store_true", help="also try logout, which may sign you out")


def _test_agent(command: Sequence[str], flags: argparse.Namespace) -> int:
    _require_testable(command, flags)
    cases = _chosen(AGENT_CASES, flags.case)
    with TemporaryDirectory(prefix="portico-conformance-") as name:
        folder = Path(name).resolve()
        (folder / "conformance.txt").write_text("conformance\n", encoding="utf-8")
        options = TrialOptions(
            folder,
            _prompts(flags.prompt, folder),
            timeout=flags.timeout,
            start_timeout=flags.start_timeout,
            auth_method=flags.auth_method,
            allow_logout=flags.allow_logout,
        )
        trial = AgentTrial(Program(command, Path.cwd(), dict(os.environ)), options)
        done = asyncio.run(_try(trial, cases, flags))
    return _finish(done, command, flags)


def try_mandatory_rules(
    command: Sequence[str], environ: Mapping[str, str], report: Callable[[CaseResult], None]
) -> Run:
    """Try the mandatory rules on an agent."""
    with TemporaryDirectory(prefix="portico-conformance-") as name:
        folder = Path(name).resolve()
        (folder / "conformance.txt").write_text("conformance\n", encoding="utf-8")
        options = TrialOptions(
            folder, _prompts((), folder), timeout=_TIMEOUT, start_timeout=_START_TIMEOUT, auth_method=None
        )
        trial = AgentTrial(Program(command, Path.cwd(), dict(environ)), options)

        async def run() -> Run:
            try:
                cases = [case for case in AGENT_CASES if case.level is Level.MANDATORY]
                return await run_cases(trial, cases, report=report)
            finally:
                await trial.end()

        return asyncio.run(run())


def _test_client(command: Sequence[str], flags: argparse.Namespace) -> int:
    _require_testable(command, flags)
    cases = _chosen(CLIENT_CASES, flags.case)
    with TemporaryDirectory(prefix="portico-conformance-") as name:
        folder = Path(name).resolve()
        program = ClientProgram(command, dict(os.environ), folder, flags.cancel_signal)
        trial = ClientTrial(program, timeout=flags.timeout, start_timeout=flags.start_timeout)
        done = asyncio.run(_try(trial, cases, flags))
    return _finish(done, command, flags)


def _test_proxy(command: Sequence[str], flags: argparse.Namespace) -> int:
    _require_testable(command, flags)
    trial = ProxyTrial(
        Program(command, Path.cwd(), dict(os.environ)),
        flags.dialect,
        timeout=flags.timeout,
        start_timeout=flags.start_timeout,
    )
    done = asyncio.run(_try(trial, _chosen(PROXY_CASES, flags.case), flags))
    return _finish(done, command, flags)


def _require_testable(command: Sequence[str], flags: argparse.Namespace) -> None:
    """InvalidInput without a command, or for a version that has no cases."""
    kind = flags.action
    if flags.protocol_version != 1:
        raise InvalidInput(
            f"There are no cases for version {flags.protocol_version} of ACP, which is a draft.",
            suggestion="Leave out --protocol-version to test version 1.",
        )
    if not command:
        raise InvalidInput(
            f"portico conformance {kind} needs a command.",
            suggestion=f"Put it after --, as in: portico conformance {kind} -- my-{kind}",
        )


async def _try(trial: AnyTrial, cases: Sequence[Case[AnyTrial]], flags: argparse.Namespace) -> Run:
    known = _known(flags.baseline)

    def report(result: CaseResult) -> None:
        if not flags.api:
            print(_row(result), flush=True)

    try:
        return await run_cases(trial, cases, known=known, report=report)
    finally:
        await trial.end()


def _finish(done: Run, command: Sequence[str], flags: argparse.Namespace) -> int:
    if flags.junit is not None:
        flags.junit.write_text(write_junit(done, flags.action), encoding="utf-8")
    if flags.html is not None:
        from portico.conformance.page import write_page

        flags.html.write_text(write_page(done, flags.action, command), encoding="utf-8")
    if flags.write_baseline is not None:
        flags.write_baseline.write_text(write_baseline(done), encoding="utf-8")
    if flags.api:
        print(msgspec.json.encode(run_object(done, flags.action, command)).decode())
    else:
        _print_summary(done)
    return 0 if done.conforms else 1


def _row(result: CaseResult) -> str:
    text = f"{_MARKS[result.status]:<5}  {result.level:<10}  {result.id:<27}  {result.rule}"
    return text if result.status == "passed" else f"{text}\n{'':<7}{clean_line(result.reason)}"


def _print_summary(done: Run) -> None:
    for result in done.results:
        if result.status == "failed":
            print(f"\n{result.id} ({result.level}) failed: {clean_line(result.reason)}")
            print(f"  Rule: {result.rule}\n  Source: {result.source}")
            for frame in result.frames:
                print(f"  {clean_line(describe_frame(frame))}")
    counts = [f"{done.count(status)} {status}" for status in STATUSES if done.count(status)]
    print(f"\n{', '.join(counts)}, in {done.seconds:.1f} s.")
    advice = sum(result.status == "failed" and result.level is Level.ADVISORY for result in done.results)
    if done.conforms:
        print("Conformant: every mandatory rule and announced capability that could be tested is met.")
        if advice:
            print(f"Recommendations not followed: {advice}.")
    else:
        against = [result.id for result in done.results if result.counts_against]
        print(f"Not conformant: {', '.join(against)}.")


def _list(flags: argparse.Namespace) -> int:
    if flags.api:
        listed = {
            kind: [
                {"id": case.id, "level": case.level, "rule": case.rule, "source": case.source}
                for case in cases
            ]
            for kind, cases in CATALOG.items()
        }
        print(msgspec.json.encode({"status": "ok", **listed}).decode())
        return 0
    for kind, cases in CATALOG.items():
        print(f"{kind}: {len(cases)} cases")
        for case in cases:
            print(f"  {case.id:<27}  {case.level:<10}  {case.rule}\n{'':<43}{case.source}")
    return 0


def _chosen(cases: Sequence[Case[AnyTrial]], names: Sequence[str]) -> Sequence[Case[AnyTrial]]:
    """The cases with one of these ids, or whose id begins with one of them."""
    for name in names:
        if not any(case.id.startswith(name) for case in cases):
            raise InvalidInput(f'Unknown case "{name}".', suggestion="See portico conformance list")
    return [case for case in cases if not names or case.id.startswith(tuple(names))]


def _prompts(given: Sequence[str], folder: Path) -> dict[str, str]:
    prompts = {name: text.format(folder=folder) for name, text in _PROMPTS.items()}
    for one in given:
        name, found, text = one.partition("=")
        if not found or name not in prompts:
            raise InvalidInput(f'--prompt takes NAME=TEXT with one of {", ".join(prompts)}, not "{one}".')
        prompts[name] = text.replace("{folder}", str(folder))
    return prompts


def _known(path: Path | None) -> frozenset[str]:
    if path is None:
        return frozenset()
    try:
        return read_baseline(path)
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"The file of known failures cannot be read: {error}") from error
