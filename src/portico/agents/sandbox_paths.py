"""Which files a confined agent may write, needs to read, and must not see."""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from portico.agents.registry import KNOWN_AGENTS
from portico.config.paths import config_folder, expanded, state_folder
from portico.domain.privacy import is_private
from portico.rpc.placing import corresponding_tops
from portico.sessions.ports import AgentSpec

MOST_LOOKED_AT = 20_000
"""Entries of a workspace among which secrets are looked for, the outermost first."""
_NOT_LOOKED_INTO = {".git", ".venv", "__pycache__", "node_modules", "target", "venv"}
_SECRETS = (
    ".aws",
    ".azure",
    ".bash_history",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".colima",
    ".config/chromium",
    ".config/gcloud",
    ".config/gh",
    ".config/git/credentials",
    ".config/google-chrome",
    ".docker/config.json",
    ".docker/desktop",
    ".docker/run",
    ".gem/credentials",
    ".git-credentials",
    ".gnupg",
    ".kube",
    ".local/share/keyrings",
    ".mozilla",
    ".netrc",
    ".npmrc",
    ".password-store",
    ".pgpass",
    ".pypirc",
    ".ssh",
    ".zsh_history",
)
"""Places in a home folder where other programs keep keys, passwords, and sockets to services."""
_BASES = {
    "XDG_CACHE_HOME": ".cache",
    "XDG_CONFIG_HOME": ".config",
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
}
# Programs that the person runs later, unconfined, read these.
_PROTECTED = (".git/config", ".git/hooks", ".portico", ".vscode", ".gitattributes")
_SHARED_BY_WORKTREES = ("objects", "refs", "logs")


def secret_paths(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Secrets of the person's, and Portico's own state: its log, its token, what was approved."""
    home = _home(environ)
    return (state_folder(environ), config_folder(environ), *(home / name for name in _SECRETS))


def private_paths(folder: Path) -> Iterator[Path]:
    """Files in a folder whose names say that they hold secrets, as far as a bounded look finds them."""
    seen, waiting = 0, [folder]
    while waiting and seen < MOST_LOOKED_AT:
        inner: list[Path] = []
        for place in waiting:
            try:
                entries = list(os.scandir(place))
            except OSError:
                continue
            seen += len(entries)
            for entry in entries:
                path = Path(entry.path)
                if is_private(path.relative_to(folder).parts):
                    yield path
                elif entry.name not in _NOT_LOOKED_INTO and entry.is_dir(follow_symlinks=False):
                    inner.append(path)
            if seen >= MOST_LOOKED_AT:
                return
        waiting = inner


def protected_paths(folder: Path) -> tuple[Path, ...]:
    """Files in a workspace that an agent may read, and that decide what runs outside of its sandbox."""
    return tuple(folder / name for name in _PROTECTED)


def person_tree(workspace: Path, folder: Path) -> Path:
    """The tree of which a working copy was made: the workspace, or the repository that it is in."""
    return corresponding_tops(workspace, folder)[0]


def working_copy(workspace: Path, folder: Path) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """What of a working copy is written and what else of it is read, its repository included."""
    top = corresponding_tops(workspace, folder)[1]
    repository = _repository(top)
    if repository is None:
        return (top,), ()
    common = _first_line(repository / "commondir")
    if common is not None:
        git = Path(os.path.normpath(repository / common))
        return (top, repository, *(git / name for name in _SHARED_BY_WORKTREES)), (git,)
    objects = _first_line(repository / "objects" / "info" / "alternates")
    return (top, repository), (() if objects is None else (Path(objects),))


def linked_paths(workspace: Path, folder: Path) -> Iterator[Path]:
    """Folders of the person's that the outermost links of a working copy share with it."""
    tree, top = corresponding_tops(workspace, folder)
    for entry in os.scandir(top):
        if entry.is_symlink():
            target = Path(os.path.realpath(entry.path))
            if (
                target.is_relative_to(tree)
                and target != tree
                and not is_private(target.relative_to(tree).parts)
            ):
                yield target


def agent_folders(spec: AgentSpec, environ: Mapping[str, str]) -> Iterator[Path]:
    """Where an agent keeps its configuration and state. Folders that it does not have yet are made."""
    program = Path(spec.command[0]).name if spec.command else ""
    names: list[str] = []
    for agent in KNOWN_AGENTS:
        if agent.name == spec.name or agent.program == program:
            names += agent.folders
    if program == "npx":
        names.append("~/.npm")
    for path in _expanded(names, {**environ, **spec.env}):
        if not path.suffix:
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
        yield path


def program_paths(command: Iterable[str], hidden: Iterable[Path]) -> Iterator[Path]:
    """What has to be shown of hidden folders so that a command can be run from there.

    That is a file itself, or the folder right below the hidden one, such as a virtual environment.
    """
    places = [Path(os.path.realpath(place)) for place in hidden]
    for word in command:
        path = Path(word)
        if not path.is_absolute() or not path.exists():
            continue
        for file in {path, path.resolve()}:
            for place in places:
                if file.is_relative_to(place) and file != place:
                    yield place / file.relative_to(place).parts[0]


def named_paths(names: Iterable[str]) -> tuple[Path, ...]:
    """Paths of the settings; one that is named in part means nothing."""
    return tuple(path for path in map(expanded, names) if path.is_absolute())


def _expanded(names: Iterable[str], environ: Mapping[str, str]) -> Iterator[Path]:
    home = _home(environ)
    for name in names:
        first, _, rest = name.partition("/")
        if first == "~":
            yield home / rest
            continue
        base = Path(environ.get(first[1:], ""))
        if base.is_absolute():
            yield base / rest
        elif first[1:] in _BASES:
            yield home / _BASES[first[1:]] / rest


def _repository(top: Path) -> Path | None:
    line = _first_line(top / ".git")
    return Path(line.removeprefix("gitdir: ")) if line is not None and line.startswith("gitdir: ") else None


def _first_line(path: Path) -> str | None:
    try:
        return os.fsdecode(path.read_bytes()).split("\n")[0] or None
    except OSError:
        return None


def _home(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("HOME") or Path.home())
