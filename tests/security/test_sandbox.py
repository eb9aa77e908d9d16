"""Programs in each sandbox that this kernel offers: their own work succeeds, and a long list of attacks fails."""

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from portico.agents.sandbox_policy import AppliedSandbox, SandboxPolicy
from portico.domain import codecs
from portico.domain.errors import PermissionDenied
from portico.review.working_copies.lifecycle import WorkingCopies
from portico.sandbox import backends
from portico.sandbox.sockets import socket_folder
from portico.sessions.ports import AgentSpec
from tests.security import sandbox_attacks

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandboxes that can be tried are Linux's")

ATTACKS = Path(sandbox_attacks.__file__)
SHELL = AgentSpec(name="shell", command=("/bin/sh",))
SECRET = "secret words\n"
PASSWORD = "secret-word"
OLD = "old words\n"
ON_OWN_TREE = ("plant a hook", "change the git settings")
PLACES = ("proposal", "worktree", "read-only", "direct")
BACKENDS = ("bubblewrap", "sandlock")


class House:
    """A person's home with a repository, secrets, and Portico's state, outside of any folder for temporary files."""

    def __init__(self, base: Path) -> None:
        self.home = base / "home"
        self.real = self.home / "project"
        self.environ = {**os.environ, "HOME": str(self.home), "PORTICO_HOME": str(base / "portico")}
        self.environ.pop("TMPDIR", None)
        self.state = base / "portico" / "state"
        self.config = base / "portico" / "config"
        for folder in (self.real, self.home / ".ssh", self.state, self.config):
            folder.mkdir(parents=True)
        for secret in (self.real / ".env", self.home / ".ssh" / "id_ed25519", self.home / ".netrc"):
            secret.write_text(SECRET)
        for file in ("token", "approvals.json"):
            (self.state / file).write_text(SECRET)
        (self.real / "a.txt").write_text(OLD)
        (self.real / ".gitignore").write_text(".env\n")
        for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "first")):
            subprocess.run(("git", "-C", self.real, *self.identity, *words), check=True, env=self.environ)
        self.git_settings = (self.real / ".git" / "config").read_text()

    identity = ("-c", "user.name=P", "-c", "user.email=p@example.org", "-c", "commit.gpgsign=false")

    def settings(self, sandbox: dict[str, object]) -> None:
        (self.config / "settings.json").write_text(json.dumps({"sandbox": sandbox}))

    def folder(self, place: str) -> Path | None:
        """Folder of a session in one of the places."""
        if place not in ("proposal", "worktree"):
            return None
        copies = WorkingCopies(self.state / "review" / "workplaces", self.environ, ours=self.state)
        mode = "proposal" if place == "proposal" else "worktree"
        return asyncio.run(copies.open(self.real, f"session-{place}", mode=mode)).folder  # type: ignore[arg-type]

    def confine(
        self, place: str, folder: Path | None, level: str | None = None, spec: AgentSpec = SHELL
    ) -> AppliedSandbox:
        environ = {**self.environ, "PORTICO_SANDBOX": level} if level else self.environ
        return SandboxPolicy(environ).confine(spec, self.real, folder, reads_only=place == "read-only")

    def content(self) -> dict[str, bytes]:
        """Everything of the person's tree but what git writes for a worktree."""
        files = (path for path in self.real.rglob("*") if path.is_file() and ".git/" not in str(path))
        return {str(path): path.read_bytes() for path in files}


class Ground:
    """A house, and what an attacker may know of the host that is outside of the sandbox."""

    def __init__(self, house: House, ports: tuple[int, int], unix: str) -> None:
        self.house = house
        self.ports = ports
        self._unix = unix
        self.folder = cache(house.folder)
        self.attack = cache(self._attack)

    def words(
        self, backend: str, place: str, level: str | None, spec: AgentSpec = SHELL
    ) -> tuple[AppliedSandbox, Path]:
        own = self.folder(place)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(backends, "BACKENDS", [one for one in backends.BACKENDS if one.name == backend])
            return self.house.confine(place, own, level, spec), own or self.house.real

    def _attack(self, backend: str, place: str, level: str | None = None) -> dict[str, str]:
        level = level or ("workspace" if place == "direct" else None)
        # An attacker who may write the tree has changed these.
        (self.house.real / "a.txt").write_text(OLD)
        (self.house.real / ".git" / "config").write_text(self.house.git_settings)
        confined, own = self.words(backend, place, level)
        assert confined.state is not None
        assert (confined.state.backend, confined.state.level) == (backend, level or "workspace")
        words = (*confined.wrapper, sys.executable, str(ATTACKS))
        environ = {**self.house.environ, "FACTS": json.dumps(self.facts(own))}
        ran = subprocess.run(words, cwd=own, env=environ, capture_output=True, timeout=60, check=False)
        assert ran.returncode == 0, ran.stderr.decode()
        return codecs.decode_json(ran.stdout, dict[str, str])

    def facts(self, own: Path) -> dict[str, object]:
        """Knowledge of the attacker."""
        house = self.house
        return {
            "real": str(house.real),
            "own": str(own),
            "home": str(house.home),
            "state": str(house.state),
            "pid": os.getpid(),
            "port": self.ports[0],
            "other": self.ports[1],
            "socket": self._unix,
            "tools": str(socket_folder() / "tools"),
        }

    def run(self, backend: str, place: str, *command: str) -> subprocess.CompletedProcess[str]:
        confined, own = self.words(backend, place, "workspace")
        words = (*confined.wrapper, *command)
        return subprocess.run(
            words, cwd=own, env=self.house.environ, capture_output=True, text=True, timeout=60, check=False
        )


@pytest.fixture(scope="module")
def ground() -> Iterator[Ground]:
    # Not below /tmp, which every sandbox replaces as a whole.
    base = Path(tempfile.mkdtemp(dir="/var/tmp", prefix="portico-test-"))
    sockets = Path(tempfile.mkdtemp(dir="/tmp", prefix="portico-test-"))
    try:
        with (
            socket.create_server(("127.0.0.1", 0)) as server,
            socket.create_server(("127.0.0.1", 0)) as other,
            socket.socket(socket.AF_UNIX) as service,
            socket.socket(socket.AF_UNIX) as tools,
        ):
            for one, place in ((service, sockets / "service"), (tools, socket_folder() / "tools")):
                one.bind(str(place))
                one.listen()
            ports = (server.getsockname()[1], other.getsockname()[1])
            yield Ground(House(base), ports, str(sockets / "service"))
    finally:
        (socket_folder() / "tools").unlink(missing_ok=True)
        shutil.rmtree(base, ignore_errors=True)
        shutil.rmtree(sockets, ignore_errors=True)


def refused(outcomes: dict[str, str], names: object) -> dict[str, str]:
    """Named attempts that were not refused."""
    return {name: outcomes[name] for name in names if outcomes[name] == "done"}  # type: ignore[attr-defined]


@pytest.mark.parametrize("place", ["proposal", "worktree", "read-only"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_nothing_of_the_person_is_written_where_changes_are_proposed_or_forbidden(
    ground: Ground, backend: str, place: str
) -> None:
    before = ground.house.content()
    outcomes = ground.attack(backend, place)
    assert refused(outcomes, sandbox_attacks.ON_FILES) == {}
    assert ground.house.content() == before
    assert not Path("/etc/portico-attacked").exists()


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_no_secret_is_read(ground: Ground, backend: str, place: str) -> None:
    assert refused(ground.attack(backend, place), sandbox_attacks.ON_SECRETS) == {}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_no_process_mount_or_service_outside_is_reached(ground: Ground, backend: str, place: str) -> None:
    outcomes = ground.attack(backend, place)
    assert refused(outcomes, (*sandbox_attacks.ON_THE_SYSTEM, *sandbox_attacks.AS_ROOT)) == {}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("place", ["proposal", "worktree", "direct"])
def test_an_agent_writes_its_own_folder_and_temporary_files(ground: Ground, backend: str, place: str) -> None:
    outcomes = ground.attack(backend, place)
    assert {name: outcomes[name] for name in sandbox_attacks.BY_RIGHT} == dict.fromkeys(
        sandbox_attacks.BY_RIGHT, "done"
    )


@pytest.mark.parametrize("backend", BACKENDS)
def test_who_only_reads_writes_nothing_of_the_workspace_and_reads_it(ground: Ground, backend: str) -> None:
    outcomes = ground.attack(backend, "read-only")
    assert outcomes["write its own file"] != "done"
    assert outcomes["read its own file"] == "done"


def test_the_same_attacks_succeed_without_a_sandbox(ground: Ground) -> None:
    names = [
        "write a real file",
        "write by a link",
        "write by a hard link",
        "read .env",
        "read a key",
        "connect",
    ]
    facts = {**ground.facts(ground.house.real), "only": names}
    environ = {**ground.house.environ, "FACTS": json.dumps(facts)}
    ran = subprocess.run((sys.executable, str(ATTACKS)), env=environ, capture_output=True, check=True)
    assert codecs.decode_json(ran.stdout, dict[str, str]) == dict.fromkeys(names, "done")


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_an_agent_left_behind_opens_nothing_when_it_is_started_again(
    ground: Ground, backend: str
) -> None:
    house, copy = ground.house, ground.folder("proposal")
    assert copy is not None
    kept = (copy / ".git").read_bytes()
    (copy / ".git").write_text(f"gitdir: {house.home / '.ssh'}\n")
    try:
        for name, target in (
            ("node_modules", house.real),
            (".vscode", house.home / ".ssh"),
            ("x.pem", house.real),
        ):
            (copy / name).unlink(missing_ok=True)
            (copy / name).symlink_to(target)
        outcomes = ground.attack.__wrapped__(backend, "proposal")
    finally:
        (copy / ".git").write_bytes(kept)
    assert refused(outcomes, (*sandbox_attacks.ON_FILES, *sandbox_attacks.ON_SECRETS)) == {}


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_strict_sandbox_has_no_network(ground: Ground, backend: str) -> None:
    outcomes = ground.attack(backend, "proposal", "strict")
    assert refused(outcomes, sandbox_attacks.ON_THE_NETWORK) == {}
    assert outcomes["reach a socket of Portico's tools"] == "done"


def test_a_strict_sandbox_reaches_the_hosts_that_are_named(ground: Ground) -> None:
    ground.house.settings({"network": [f"127.0.0.1:{ground.ports[0]}"]})
    try:
        outcomes = ground.attack.__wrapped__("sandlock", "proposal", "strict")
        with pytest.raises(PermissionDenied, match="bubblewrap cannot allow single hosts"):
            ground.words("bubblewrap", "proposal", "strict")
    finally:
        ground.house.settings({})
    assert outcomes["connect"] == "done"
    assert outcomes["connect to the other"] != "done"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "command",
    [
        ("git", *House.identity, "commit", "--allow-empty", "-qm", "of the agent"),
        ("git", "status", "--porcelain"),
        ("node", "-e", "require('fs').writeFileSync('node.txt', 'x')"),
        (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", ".", "test_own.py"),
    ],
    ids=["commit", "status", "node", "pytest"],
)
def test_ordinary_programs_work(ground: Ground, backend: str, command: tuple[str, ...]) -> None:
    copy = ground.folder("proposal")
    assert copy is not None
    (copy / "test_own.py").write_text("def test_it(tmp_path): (tmp_path / 'x').write_text('x')\n")
    ran = ground.run(backend, "proposal", *command)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("place", ["proposal", "read-only"])
def test_an_agent_whose_program_is_below_tmp_runs_and_sees_nothing_else_there(
    ground: Ground, backend: str, place: str
) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as made, tempfile.TemporaryDirectory(dir="/tmp") as other:
        (program := Path(made) / "bin" / "agent").parent.mkdir()
        program.write_text(f"#!/bin/sh\ncat '{made}/library'; cat '{other}/file'\n")
        program.chmod(0o755)
        (Path(made) / "library").write_text("its library")
        (Path(other) / "file").write_text("of another program")
        confined, own = ground.words(
            backend, place, "workspace", AgentSpec(name="mine", command=(str(program),))
        )
        ran = subprocess.run(
            (*confined.wrapper, str(program)),
            check=False,
            cwd=own,
            env=ground.house.environ,
            capture_output=True,
            text=True,
        )
    assert ran.stdout == "its library", ran.stderr
    assert other in ran.stderr


@pytest.mark.parametrize("below", ["temporary files", "workspace"])
def test_an_agent_can_start_portico_s_own_tools_wherever_portico_is_installed(
    ground: Ground, below: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Path("/tmp") if below == "temporary files" else ground.house.real
    with tempfile.TemporaryDirectory(dir=place) as made:
        (program := Path(made) / "bin" / "python").parent.mkdir()
        program.write_text("#!/bin/sh\necho it runs\n")
        program.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(program))
        ran = ground.run("bubblewrap", "proposal", str(program))
    assert ran.stdout == "it runs\n", ran.stderr


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("place", ["proposal", "read-only"])
def test_a_workspace_in_shared_memory_is_as_safe_as_any_other(backend: str, place: str) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="portico-test-") as base:
        ground = Ground(House(Path(base)), (0, 0), "")
        real = ground.house.real
        shell = f"cat a.txt; echo x >'{real}/a.txt'; cat '{real}/.env' '{ground.house.home}/.netrc'"
        ran = ground.run(backend, place, "sh", "-c", shell)
        assert (ran.stdout, (real / "a.txt").read_text()) == (OLD, OLD), ran.stderr


def test_a_worktree_takes_commits_and_no_hooks(ground: Ground) -> None:
    ran = ground.run(
        "bubblewrap", "worktree", "git", *House.identity, "commit", "--allow-empty", "-qm", "own"
    )
    assert ran.returncode == 0, ran.stderr
    shell = f"echo x >'{ground.house.real}/.git/hooks/pre-commit'"
    assert ground.run("bubblewrap", "worktree", "sh", "-c", shell).returncode != 0


def test_an_agent_in_a_sandbox_cannot_plant_hooks_where_it_may_write(ground: Ground) -> None:
    outcomes = ground.attack("bubblewrap", "direct")
    assert outcomes["write its own file"] == "done"
    assert refused(outcomes, ON_OWN_TREE) == {}


def test_a_secret_that_was_deleted_meanwhile_is_not_made_again(ground: Ground) -> None:
    house = ground.house
    key = house.real / "old.pem"
    key.write_text(SECRET)
    sandboxes = SandboxPolicy({**house.environ, "PORTICO_SANDBOX": "workspace"})
    sandboxes.confine(SHELL, house.real, None, reads_only=False)
    key.unlink()
    words = sandboxes.command_wrapper(house.real, None)
    subprocess.run((*words, "true"), cwd=house.real, check=True, timeout=60)
    assert not key.exists()


@pytest.mark.parametrize("place", PLACES)
def test_a_password_in_the_settings_of_git_is_not_read_and_git_works(ground: Ground, place: str) -> None:
    config = ground.house.real / ".git" / "config"
    ground.folder(place)  # Made before the password is there, as a working copy may be.
    kept = ground.house.git_settings
    config.write_text(f'{kept}[remote "origin"]\n\turl = https://me:{PASSWORD}@example.org/a.git\n')
    try:
        ran = ground.run("bubblewrap", place, "sh", "-c", f"cat '{config}'; git status --porcelain")
    finally:
        config.write_text(kept)
    assert PASSWORD not in ran.stdout + ran.stderr
    assert ran.returncode == 0, ran.stderr
