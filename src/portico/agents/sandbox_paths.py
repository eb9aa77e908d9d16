"""Paths that a confined agent may write, may read, and must not see.

They never depend on files that the agent can write: a link or a file that an agent left in its folder must not give
it access to another one when it is restarted.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from portico.agents.registry import KNOWN_AGENTS
from portico.config.paths import config_folder, expand_user_path, state_folder
from portico.domain.protected_files import controlling_program
from portico.domain.secret_files import holds_credential, is_private
from portico.processes.relocation import matching_roots
from portico.sessions.ports import AgentSpec

MOST_LOOKED_AT = 20_000
"""Number of workspace entries that are searched for secrets, outermost first."""
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
"""Paths in a home folder where other programs keep keys, passwords and sockets."""
_BASES = {
    "XDG_CACHE_HOME": ".cache",
    "XDG_CONFIG_HOME": ".config",
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
}
_OF_GIT = (".git/config", ".git/hooks")
_SHARED_BY_WORKTREES = ("objects", "refs", "logs")


def secret_paths(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """The person's secrets, and Portico's own state: log, token and approvals."""
    home = _home(environ)
    return (state_folder(environ), config_folder(environ), *(home / name for name in _SECRETS))


def private_paths(folder: Path) -> Iterator[Path]:
    """Files in a folder with names of secrets, found by a limited search."""
    seen, waiting = 0, [folder]
    while waiting and seen < MOST_LOOKED_AT:
        inner: list[Path] = []
        for place in waiting:
            entries = _entries(place)
            seen += len(entries)
            for entry in entries:
                path = Path(entry.path)
                if is_private(path.relative_to(folder).parts):
                    if not (entry.is_symlink() and entry.is_dir()):
                        yield path
                elif entry.name not in _NOT_LOOKED_INTO and entry.is_dir(follow_symlinks=False):
                    inner.append(path)
            if seen >= MOST_LOOKED_AT:
                return
        waiting = inner


def credential_paths(tree: Path, environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Git settings of a tree and of the person that contain a password or a token."""
    home, common = _home(environ), _common_repository(tree)
    own = (*_expanded(("~/.gitconfig", "$XDG_CONFIG_HOME/git/config"), {**environ, "HOME": str(home)}),)
    configs = own if common is None else (*own, common / "config")
    return tuple(path for path in configs if _has_credential(path))


def protected_paths(folder: Path) -> tuple[Path, ...]:
    """Files in a workspace that an agent may read but not write, because they decide what runs outside its sandbox."""
    found = [folder / name for name in _OF_GIT]
    found += [
        Path(entry.path)
        for entry in _entries(folder)
        if entry.name != ".git" and controlling_program([entry.name])
    ]
    return tuple(path for path in found if not path.is_symlink())


def original_tree(workspace: Path, folder: Path) -> Path:
    """The tree of which a working copy was made: the workspace, or the repository that it is in."""
    return matching_roots(workspace, folder)[0]


def working_copy(workspace: Path, folder: Path) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Paths of a working copy that are written, and others that are read, with its repository."""
    tree, top = matching_roots(workspace, folder)
    common = _common_repository(tree)
    if common is None:
        return (top,), ()
    for worktree in (common / "worktrees").glob("*"):
        if _first_line(worktree / "gitdir") == str(top / ".git") and not worktree.is_symlink():
            return (top, worktree, *_shared(common)), (common,)
    # The repository of a copy is beside it, and uses the objects of the person's.
    config = common / "config"
    shown = () if _has_credential(config) else (config,)
    return (top, top.parent.parent / "git"), (common / "objects", *shown)


def shared_repository(workspace: Path) -> tuple[Path, ...]:
    """Paths in a person's repository that all of its worktrees write, also later ones."""
    common = _common_repository(workspace)
    return () if common is None else (*_shared(common), common / "worktrees")


def linked_paths(workspace: Path, folder: Path, names: Iterable[str]) -> tuple[Path, ...]:
    """Folders that the person shares with working copies."""
    tree = original_tree(workspace, folder)
    return tuple(path for name in names if (path := tree / name).is_dir() and path != tree)


def agent_folders(spec: AgentSpec, environ: Mapping[str, str]) -> Iterator[Path]:
    """Folders with an agent's configuration and state, created if they do not exist."""
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


def program_paths(command: Iterable[str], hidden: Iterable[Path], *, temporary: Path) -> Iterator[Path]:
    """Paths out of an agent's sight that must be visible so that its command can run.

    That is a file itself, or the folder right below the hidden one, such as a virtual environment. In place of
    `temporary` the agent sees a folder of its own, where its command may name folders that it is to write.
    """
    folders = [Path(os.path.realpath(folder)) for folder in (*hidden, temporary)]
    for word in command:
        path = Path(word)
        if not path.is_absolute() or not path.exists():
            continue
        for file in {path, path.resolve()}:
            around = [folder for folder in folders if file.is_relative_to(folder) and file != folder]
            # Of nested folders only the innermost, or the whole of it would be shown.
            folder = max(around, key=lambda one: len(one.parts), default=None)
            if folder is not None and (folder != temporary or file.is_file()):
                yield folder / file.relative_to(folder).parts[0]


def named_paths(names: Iterable[str]) -> tuple[Path, ...]:
    """Paths of the settings; relative ones are ignored."""
    return tuple(path for path in map(expand_user_path, names) if path.is_absolute())


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


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        return list(os.scandir(folder))
    except OSError:
        return []


def _common_repository(tree: Path) -> Path | None:
    """The repository of the person's tree, which may be a worktree itself."""
    line = _first_line(tree / ".git") or ""
    repository = tree / line.removeprefix("gitdir: ") if line.startswith("gitdir: ") else tree / ".git"
    if not repository.is_dir():
        return None
    common = _first_line(repository / "commondir")
    return repository if common is None else Path(os.path.normpath(repository / common))


def _shared(common: Path) -> tuple[Path, ...]:
    return tuple(common / name for name in _SHARED_BY_WORKTREES)


def _has_credential(config: Path) -> bool:
    return holds_credential((".git", "config"), _text(config))


def _first_line(path: Path) -> str | None:
    return _text(path).split("\n")[0] or None


def _text(path: Path) -> str:
    try:
        return os.fsdecode(path.read_bytes())
    except OSError:
        return ""


def _home(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("HOME") or Path.home())
