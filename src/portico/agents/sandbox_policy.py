"""Decides how far each agent is confined, from the flag, the settings and the review mode.

Porter itself is not confined: it is part of Portico, keeps its state beside the log, and accesses files through the
host. The programs it starts are confined, by a command prefix that it gets in a variable.
"""

import hashlib
import os
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import msgspec

import portico
from portico.agents import sandbox_paths
from portico.agents.registry import PORTER, AgentRegistry
from portico.config.paths import config_folder, state_folder
from portico.config.sandbox_settings import SandboxSetting, requested_level
from portico.config.settings import linked_folders, load_settings
from portico.domain.errors import PermissionDenied
from portico.domain.values import SandboxLevel, SandboxStatus
from portico.files.private import make_private_folder
from portico.processes.relocation import relocated_command
from portico.sandbox.confinement import TEMPORARY, Confinement, SandboxUnavailable
from portico.sandbox.sockets import socket_folder
from portico.sandbox.wrapper import WRAPPER_VARIABLE
from portico.sessions.ports import AgentSpec

_KEPT_SECONDS = 7 * 24 * 3600.0
_OF_PORTER = "Porter itself is not confined, but the commands and MCP servers that it starts are."


class AppliedSandbox(msgspec.Struct, frozen=True, kw_only=True):
    """Command prefix and variables that confine an agent, and the confinement in force."""

    wrapper: tuple[str, ...] = ()
    environ: dict[str, str] = {}
    state: SandboxStatus | None = None


class SandboxPolicy:
    """Sandboxes of one process. A level in the environment, or in that of the agent, overrides the settings.

    Agents may write `copies`, where the working copies of an agent are made that starts before its sessions.
    """

    def __init__(self, environ: Mapping[str, str], *, copies: tuple[Path, ...] = ()) -> None:
        self._environ = dict(environ)
        self._wish = requested_level(environ)
        self._copies = copies
        self._commands: dict[tuple[Path, Path | None], Callable[[], tuple[str, ...]]] = {}

    def confine(
        self, spec: AgentSpec, workspace: Path, folder: Path | None, *, reads_only: bool
    ) -> AppliedSandbox:
        """The confined start of an agent. Blocks. PermissionDenied if a required sandbox does not work."""
        setting = load_settings(config_folder(self._environ), workspace).sandbox
        setting.check()
        wish = self._wish or requested_level(spec.env)
        level = self._level(setting, wish, implied=folder is not None or reads_only)
        if not reads_only:  # A read-only session runs no commands, and may share the workspace with others.
            self._commands.pop((workspace, folder), None)
        if level == "none":
            return AppliedSandbox()
        place = _AgentPaths(
            self._environ, setting, workspace, folder, reads_only=reads_only, copies=self._copies
        )
        confined = self._confined(place, spec, level, required=setting.required or wish is not None)
        if confined.state is not None and confined.state.level != "none" and not reads_only:
            from portico.sandbox.backends import find_backend

            confinement = place.confinement(None, confined.state.level)
            self._commands[workspace, folder] = partial(find_backend(confinement).wrapper, confinement)
        return confined

    def keeps_out(self, spec: AgentSpec, workspace: Path, *, implied: bool, tree: Path | None = None) -> bool:
        """Whether a sandbox keeps an agent from writing its workspace. Blocks.

        With a `tree`, that is what it must not write: one agent may serve sessions in several folders.
        """
        setting = load_settings(config_folder(self._environ), workspace).sandbox
        wish = self._wish or requested_level(spec.env)
        if self._is_porter(spec) or self._level(setting, wish, implied=implied) == "none":
            return False
        opened = sandbox_paths.named_paths(setting.write)
        tree = tree or workspace
        if any(tree.is_relative_to(each) or each.is_relative_to(tree) for each in opened):
            return False
        from portico.sandbox.backends import find_backend

        try:
            find_backend(Confinement())
        except SandboxUnavailable:
            return False
        return True

    def _level(self, setting: SandboxSetting, wish: SandboxLevel | None, *, implied: bool) -> SandboxLevel:
        fallback: SandboxLevel = "workspace" if implied or setting.required else "none"
        return wish or setting.level or fallback

    def command_wrapper(self, workspace: Path, folder: Path | None) -> tuple[str, ...]:
        """The prefix that confines a command like the agent that works there."""
        words = self._commands.get((workspace, folder))
        return () if words is None else words()

    def _confined(
        self, place: "_AgentPaths", spec: AgentSpec, level: SandboxLevel, *, required: bool
    ) -> AppliedSandbox:
        from portico.sandbox.backends import find_backend

        confinement = place.confinement(spec, level)
        try:
            backend = find_backend(confinement)
        except SandboxUnavailable as error:
            if required:
                raise _refused(level, error) from error
            if level == "strict":
                lesser = self._confined(place, spec, "workspace", required=False)
                return _noted(lesser, f"A strict sandbox is not available here ({error}).")
            note = f"This agent is not confined: no sandbox works here ({error})."
            return AppliedSandbox(state=SandboxStatus(note=note))
        wrapper = backend.wrapper(confinement)
        state = SandboxStatus(level=level, backend=backend.name)
        if self._is_porter(spec):
            words = msgspec.json.encode(wrapper).decode()
            state = msgspec.structs.replace(state, note=_OF_PORTER)
            return AppliedSandbox(environ={WRAPPER_VARIABLE: words}, state=state)
        return AppliedSandbox(wrapper=wrapper, state=state)

    def _is_porter(self, spec: AgentSpec) -> bool:
        porter = AgentRegistry(python=sys.executable, environ={}).resolve(PORTER)
        return spec.command == porter.command


class _AgentPaths:
    """Paths of one agent, and its confinement."""

    def __init__(
        self,
        environ: Mapping[str, str],
        setting: SandboxSetting,
        workspace: Path,
        folder: Path | None,
        *,
        reads_only: bool,
        copies: tuple[Path, ...],
    ) -> None:
        self._environ = environ
        self._setting = setting
        self._workspace = workspace
        self._folder = folder
        self._reads_only = reads_only
        self._copies = copies

    def confinement(self, spec: AgentSpec | None, level: SandboxLevel) -> Confinement:
        """The confinement of an agent, or of a command that is run for one."""
        hidden = list(sandbox_paths.secret_paths(self._environ))
        writable, readable = list(sandbox_paths.named_paths(self._setting.write)), list[Path]()
        if self._folder is None:
            hidden += sandbox_paths.private_paths(self._workspace)
            hidden += sandbox_paths.credential_paths(self._workspace, self._environ)
            # It may be below /tmp, where the agent has a folder of its own.
            readable.append(self._workspace)
            if not self._reads_only:
                writable.append(self._workspace)
                protected = sandbox_paths.protected_paths(self._workspace)
                readable += (path for path in protected if path not in hidden)
        else:
            tree = sandbox_paths.original_tree(self._workspace, self._folder)
            hidden += (tree, *sandbox_paths.credential_paths(tree, self._environ))
            hidden += sandbox_paths.private_paths(self._folder)
            written, read = sandbox_paths.working_copy(self._workspace, self._folder)
            linked = linked_folders(config_folder(self._environ))
            writable += (*written, *sandbox_paths.linked_paths(self._workspace, self._folder, linked))
            readable += read
        # Portico's own tools come to an agent as a program that it starts, and that reports here.
        writable += (*self._copies, socket_folder())
        command: tuple[str, ...] = (sys.executable, portico.__file__)
        if spec is not None:
            writable += sandbox_paths.agent_folders(spec, self._environ)
            command += (
                relocated_command(spec.command, workspace=self._workspace) if self._folder else spec.command
            )
        readable += sandbox_paths.program_paths(command, hidden, temporary=TEMPORARY)
        return Confinement(
            writable=tuple(writable),
            readable=tuple(readable),
            hidden=tuple(hidden),
            temporary=self._temporary(),
            network=self._setting.network if level == "strict" else None,
        )

    def _temporary(self) -> Path:
        """A private folder for temporary files of the agent and its commands."""
        all_of_them = state_folder(self._environ) / "sandbox" / "tmp"
        key = hashlib.sha256(os.fsencode(self._folder or self._workspace)).hexdigest()[:16]
        folder = all_of_them / key
        if not folder.is_dir():
            make_private_folder(folder)
            _sweep(all_of_them)
        return folder


def _sweep(folder: Path) -> None:
    """Remove temporary folders that have been unused for a week."""
    import shutil

    for place in folder.iterdir():
        try:
            if time.time() - place.stat().st_mtime > _KEPT_SECONDS:
                shutil.rmtree(place)
        except OSError:
            continue


def _noted(confined: AppliedSandbox, note: str) -> AppliedSandbox:
    assert confined.state is not None
    said = f"{note} {confined.state.note}".strip()
    return msgspec.structs.replace(confined, state=msgspec.structs.replace(confined.state, note=said))


def _refused(level: SandboxLevel, error: SandboxUnavailable) -> PermissionDenied:
    return PermissionDenied(
        f"The agent was not started: the sandbox “{level}” is required but not available here ({error}).",
        suggestion="See what is missing with: portico doctor. To continue without a sandbox: --sandbox none",
    )
