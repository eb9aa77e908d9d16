"""Trace one real prompt through Portico, and print the modules it reaches, each below the one that led there.

    python scripts/trace_turn.py                    both walks, as text
    python scripts/trace_turn.py --json FILE        the same, for scripts/draw_architecture.py
    python scripts/trace_turn.py --program PYTHON   of another checkout, to compare
    python scripts/trace_turn.py --settings FILE    with these settings, such as components switched off

Two walks are traced, each a `/write` by Porter in proposal mode: `host` is a new session of `portico serve`, from
StartSession to the end of its first turn; `exec` is `portico exec` from its first line to its last. A *visit* is a
stay in one package; a *re-entry* is a visit to a package that the walk had left. They are counted in two orders. *As it
ran* is the order of the first calls, in which tasks and threads that run at the same time alternate. *As it reads* puts
each module below the one that led to it, through tasks and threads too: the order in which a reader opens the files. A
*crossing* is the first call of a module by one of another package. Not counted: code that runs while a module is being
imported, generated code, and the packages that every other one uses like a library.
"""

import argparse
import asyncio
import contextvars
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

PROMPT = "/write hello.txt\nhello\n"
SERVICE = "/portico.v1.AgentService/"
PATIENCE = 60.0
# The lower layers: values, files, processes, settings, JSON-RPC. Nothing on the way of a prompt is decided there.
LIBRARIES = frozenset({"api", "config", "domain", "files", "git", "processes", "project", "rpc", "sandbox"})
GENERATED = ("api/v1/", "acp/_schema", "doors/connect/generated/")


_EVENT_LOOP = asyncio.events.__file__
"""Below it on the stack is the command that runs the loop, not what led to the call."""

_ORIGIN: ContextVar[str | None] = ContextVar("origin", default=None)
"""The module that ran last in this context; a task or a thread begins with that of the code that starts it."""


class Arrival(NamedTuple):
    """The first call of a module in a walk, and the module of ours that led there."""

    module: str
    caller: str | None

    @property
    def package(self) -> str:
        return self.module.partition("/")[0]


class Walk(NamedTuple):
    """Modules in the order in which one turn first reaches them."""

    name: str
    arrivals: list[Arrival]

    @property
    def packages(self) -> set[str]:
        return {arrival.package for arrival in self.arrivals}

    @property
    def as_it_ran(self) -> "Length":
        return _length([arrival.module for arrival in self.arrivals])

    @property
    def as_it_reads(self) -> "Length":
        return _length([module for _, module in self.tree])

    @property
    def tree(self) -> list[tuple[int, str]]:
        """Every module with its depth below the one that led to it; what no module led to is at depth 0."""
        known = {arrival.module for arrival in self.arrivals}
        led_to: dict[str | None, list[str]] = {}
        for module, caller in self.arrivals:
            led_to.setdefault(caller if caller in known else None, []).append(module)
        order: list[tuple[int, str]] = []
        waiting = [(0, module) for module in reversed(led_to.get(None, []))]
        while waiting:
            depth, module = waiting.pop()
            order.append((depth, module))
            waiting += [(depth + 1, one) for one in reversed(led_to.get(module, []))]
        return order

    @property
    def crossings(self) -> int:
        callers = ((one.caller or "").partition("/")[0] for one in self.arrivals)
        return sum(
            caller not in ("", one.package) for caller, one in zip(callers, self.arrivals, strict=True)
        )


class Length(NamedTuple):
    visits: int
    re_entries: int


def _length(modules: list[str]) -> Length:
    packages = [module.partition("/")[0] for module in modules]
    visits = sum(at == 0 or packages[at - 1] != package for at, package in enumerate(packages))
    return Length(visits, visits - len(set(packages)))


class Recorder:
    """A profile function that notes the first call of every module of Portico."""

    def __init__(self, package: Path) -> None:
        self._package = f"{package}{os.sep}"
        self._found: dict[str, str | None] = {}

    def start(self, *_: object) -> None:
        self._found.clear()
        self._follow_threads()
        threading.setprofile(self)
        sys.setprofile(self)

    def write(self, output: Path) -> None:
        sys.setprofile(None)
        threading.setprofile(None)
        found = [
            (self._name(module), caller and self._name(caller)) for module, caller in self._found.items()
        ]
        partial = output.with_suffix(".partial")
        partial.write_text(json.dumps([pair for pair in found if not pair[0].startswith(GENERATED)]))
        partial.replace(output)

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        file = frame.f_code.co_filename
        if event != "call" or not self._is_counted(file):
            return
        if file not in self._found and not _is_import(frame):
            self._found[file] = self._caller(frame)
        _ORIGIN.set(file)

    def _caller(self, frame: FrameType) -> str | None:
        """The module that led to this call: further down the stack, or where the task or thread was started."""
        caller = frame.f_back
        while caller is not None and caller.f_code.co_filename != _EVENT_LOOP:
            file = caller.f_code.co_filename
            if file != frame.f_code.co_filename and self._is_counted(file):
                return file
            caller = caller.f_back
        origin = _ORIGIN.get()
        return None if origin == frame.f_code.co_filename else origin

    def _is_counted(self, file: str) -> bool:
        """Whether a file is ours, and not of a library package."""
        if not file.startswith(self._package):
            return False
        return self._name(file).partition("/")[0] not in LIBRARIES

    def _follow_threads(self) -> None:
        """Have work that is given to a thread remember where it comes from. Tasks do so by themselves."""
        submit = ThreadPoolExecutor.submit

        def submit_with_context(pool: ThreadPoolExecutor, work: Any, /, *args: Any, **named: Any) -> Any:
            return submit(pool, contextvars.copy_context().run, work, *args, **named)

        ThreadPoolExecutor.submit = submit_with_context  # type: ignore[assignment, method-assign]
        start = threading.Thread.start

        def start_with_context(thread: threading.Thread) -> None:
            thread.run = partial(contextvars.copy_context().run, thread.run)  # type: ignore[method-assign]
            start(thread)

        threading.Thread.start = start_with_context  # type: ignore[assignment, method-assign]

    def _name(self, file: str) -> str:
        return file.removeprefix(self._package).removesuffix(".py").replace(os.sep, "/")


def _is_import(frame: FrameType | None) -> bool:
    """Whether a module is being executed anywhere on the stack."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__") != "__main__":
            return True
        frame = frame.f_back
    return False


def record(output: Path, arguments: list[str], *, at_signal: bool) -> int:
    """Run `portico` in this process under the recorder; with `at_signal`, from SIGUSR1 to SIGUSR2."""
    import portico
    from portico.cli.main import main as run

    recorder = Recorder(Path(portico.__file__).parent)
    if at_signal:
        signal.signal(signal.SIGUSR1, recorder.start)
        signal.signal(signal.SIGUSR2, lambda *_: recorder.write(output))
        return run(arguments)
    recorder.start()
    try:
        return run(arguments)
    finally:
        recorder.write(output)


def trace_exec(program: str, settings: str = "{}") -> Walk:
    with _scene(settings) as (folder, workspace, environ):
        output = folder / "exec.json"
        command = _recorded(program, output, "exec", "--mode", "proposal", "--json-stream", PROMPT)
        subprocess.run(command, cwd=workspace, env=environ, check=True, stdout=subprocess.DEVNULL)
        return _read(output, "exec")


def trace_host(program: str, settings: str = "{}") -> Walk:
    with _scene(settings) as (folder, workspace, environ):
        output = folder / "host.json"
        command = _recorded(program, output, "serve", "--cwd", str(workspace), at_signal=True)
        server = subprocess.Popen(command, cwd=workspace, env=environ, stdout=subprocess.DEVNULL)
        try:
            record_file = _wait_for(lambda: next(iter(folder.rglob("server.json")), None))
            address = json.loads(record_file.read_text())
            token = Path(address["token_file"]).read_text().strip()
            server.send_signal(signal.SIGUSR1)
            started = _call(address["port"], token, "StartSession", {"mode": "REVIEW_MODE_PROPOSAL"})
            detail = json.loads(started)["session"]
            session_id = detail.get("sessionId") or detail["summary"]["sessionId"]
            answer = _call(
                address["port"], token, "Invoke", {"sessionId": session_id, "text": PROMPT}, stream=True
            )
            if b"turnEnded" not in answer:
                raise SystemExit("The turn did not end as it should.")
            server.send_signal(signal.SIGUSR2)
            _wait_for(lambda: output if output.exists() else None)
            return _read(output, "host")
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(PATIENCE)


@contextmanager
def _scene(settings: str) -> Iterator[tuple[Path, Path, Mapping[str, str]]]:
    """A home of its own with these settings and a git repository with one commit, which are removed again."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        workspace = folder / "workspace"
        workspace.mkdir()
        (workspace / "README.md").write_text("# Example\n")
        config = folder / "portico" / "config"
        config.mkdir(parents=True)
        (config / "settings.json").write_text(settings)
        identity = ("-c", "user.name=example", "-c", "user.email=example@example.com")
        for words in (("init", "-q"), ("add", "."), (*identity, "commit", "-qm", "Begin")):
            subprocess.run(["git", *words], cwd=workspace, check=True)
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("PORTICO_", "XDG_"))}
        yield folder, workspace, {**kept, "HOME": name, "PORTICO_HOME": str(folder / "portico")}


def _recorded(program: str, output: Path, *arguments: str, at_signal: bool = False) -> list[str]:
    flags = ["--record", str(output), *(["--at-signal"] if at_signal else [])]
    return [program, str(Path(__file__).resolve()), *flags, "--", *arguments]


def _read(output: Path, name: str) -> Walk:
    arrivals = [Arrival(*pair) for pair in json.loads(output.read_text())]
    return Walk(name, [arrival for arrival in arrivals if arrival.package not in LIBRARIES])


def _wait_for(found: Any) -> Any:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if (value := found()) is not None:
            return value
        time.sleep(0.05)
    raise SystemExit("The server did not do its part in time.")


def _call(port: int, token: str, method: str, request: Mapping[str, str], *, stream: bool = False) -> bytes:
    body = json.dumps(request).encode()
    kind = "application/json"
    if stream:
        body, kind = b"\x00" + len(body).to_bytes(4, "big") + body, "application/connect+json"
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": kind}
        connection.request("POST", SERVICE + method, body=body, headers=headers)
        response = connection.getresponse()
        content = response.read()
    finally:
        connection.close()
    if response.status != 200:
        raise SystemExit(f"{method} failed: {content.decode(errors='replace')}")
    return content


def _print(walk: Walk) -> None:
    print(f"{walk.name}: {len(walk.arrivals)} modules in {len(walk.packages)} packages")
    print(f"  as it ran: {walk.as_it_ran.visits} visits, {walk.as_it_ran.re_entries} re-entries")
    print(f"  as it reads: {walk.as_it_reads.visits} visits, {walk.as_it_reads.re_entries} re-entries")
    print(f"  {walk.crossings} crossings")
    for depth, module in walk.tree:
        print(f"  {'  ' * depth}{module}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--program", default=sys.executable, help="Python that Portico is installed for")
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write the walks there instead of printing them"
    )
    parser.add_argument("--settings", type=Path, metavar="FILE", help="settings of the user for both walks")
    parser.add_argument("--record", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--at-signal", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("arguments", nargs="*", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.record:
        return record(options.record, options.arguments, at_signal=options.at_signal)
    settings = options.settings.read_text() if options.settings else "{}"
    walks = [trace_host(options.program, settings), trace_exec(options.program, settings)]
    if options.json:
        options.json.write_text(json.dumps({walk.name: walk.arrivals for walk in walks}, indent=1))
    else:
        for walk in walks:
            _print(walk)
    return 0


if __name__ == "__main__":
    sys.exit(main())
