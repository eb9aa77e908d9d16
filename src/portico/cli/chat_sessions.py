"""The sessions that a chat opens one after another: `/new`, `/agent`, `/resume`, `/sessions`, `/compact`, `/handoff`."""

import argparse
from collections.abc import Mapping

from portico.agents.registry import AgentRegistry
from portico.app.host import Host, python_program
from portico.cli.chat_commands import AGENT, HAND_OFF, RESUME, SESSIONS
from portico.cli.session_options import SelectedSession, choose_session
from portico.config.paths import config_folder
from portico.config.settings import load_settings
from portico.domain.errors import InvalidInput
from portico.domain.ids import SessionId
from portico.domain.session_summary import SessionSummary
from portico.doors.terminal.render.session_table import print_sessions
from portico.doors.terminal.sanitizer import clean_line
from portico.sessions.lookup import find_session

_LISTED = 20
_NO_OTHER = "There is no other session in this folder."
# Flags that name a session or an agent; a chat that continues elsewhere drops them.
_UNNAMED = {"session": None, "go_on": False, "agent_session": None, "agent": None, "agent_command": None}


class ChatSessions:
    """Opens the sessions of a chat, with the flags that it was started with."""

    def __init__(self, host: Host, flags: argparse.Namespace, environ: Mapping[str, str]) -> None:
        self._host = host
        self._flags = flags
        self._environ = environ

    async def first(self) -> SelectedSession:
        return await self._open(self._flags)

    async def reopen(self, session_id: SessionId) -> SelectedSession:
        """The same session again, after its server has ended."""
        return await self._open(self._changed(session=session_id, go_on=False, agent_session=None))

    async def new(self, current: SelectedSession) -> SelectedSession:
        """A new session like the current one: same folder, agent and mode."""
        like = await self._host.service.show(current.session_id)
        wanted = self._changed(**_UNNAMED, cwd=str(current.workspace), read_only=like.reads_only, mode=None)
        return await self._open(wanted, like=like)

    async def with_agent(self, name: str, current: SelectedSession) -> SelectedSession:
        """A new session with another agent, in the same folder and mode."""
        like = await self._host.service.show(current.session_id)
        named = {**_UNNAMED, "agent": name, "cwd": str(current.workspace)}
        mode = None if like.reads_only else like.mode
        return await self._open(self._changed(**named, mode=mode, read_only=like.reads_only))

    async def resume(self, words: str, current: SelectedSession) -> SelectedSession:
        """An earlier session, by its number in the list, its ID or the beginning of that."""
        session_id = await self._find(words, current)
        if session_id == current.session_id:
            raise InvalidInput(
                "This is the session that you are in.", suggestion=f"List them with: {SESSIONS}"
            )
        return await self._open(
            self._changed(**{**_UNNAMED, "session": session_id}, mode=None, read_only=False)
        )

    async def hand_off(self, agent: str | None, current: SelectedSession) -> SelectedSession:
        """A session that gets a summary of the current one; None is the same agent again."""
        # Late: most chats stay with their agent.
        from portico.cli.hand_off import hand_off_session

        source = await self._host.service.show(current.session_id)
        continuation = await hand_off_session(self._host, source, agent, self._environ)
        wanted = {**_UNNAMED, "session": continuation.session_id}
        return await self._open(self._changed(**wanted, mode=None, read_only=False))

    async def print_list(self, current: SelectedSession) -> None:
        """Print the sessions of the folder, numbered for `/resume`."""
        found = await self._listed(current)
        if not found:
            print(f"  {_NO_OTHER}")
            return
        home = self._environ.get("HOME", "")
        print_sessions(found, now_ms=self._host.clock.now_ms(), home=home, numbered=True)
        print(f"  Continue one with: {RESUME} NUMBER")

    def agent_lines(self, current: SelectedSession) -> list[str]:
        """The agents that can be chosen, with the current one marked."""
        registry = self._registry(current)
        found = [registry.describe(name, current.agent) for name in registry.names()]
        width = max((len(clean_line(one.name)) for one in found), default=0)
        lines = []
        for one in found:
            state = "current" if one.name == current.agent else "" if one.installed else "not installed"
            lines.append(f"{clean_line(one.name):<{width}}  {state}".rstrip())
        return [*lines, f"Start a session with one: {AGENT} NAME. To bring a summary along: {HAND_OFF} NAME"]

    async def leave(self, left: SelectedSession, *, empty: bool) -> None:
        """Leave a session permanently; a new one without a prompt is deleted."""
        await left.conversation.close()
        if empty and left.new:
            await self._host.service.delete(left.session_id)
        else:
            await self._host.service.release(left.session_id)

    def _registry(self, current: SelectedSession) -> AgentRegistry:
        settings = load_settings(config_folder(self._environ), current.workspace)
        return AgentRegistry(python=python_program(), environ=self._environ, custom=settings.agents)

    async def _listed(self, current: SelectedSession) -> list[SessionSummary]:
        workspace = str(current.workspace)
        found = await self._host.store.summaries(workspace=workspace, limit=_LISTED + 1)
        return [one for one in found if one.session_id != current.session_id][:_LISTED]

    async def _find(self, words: str, current: SelectedSession) -> SessionId:
        listed = await self._listed(current)
        if not words:
            raise InvalidInput(
                f"{RESUME} needs a number or an ID." if listed else _NO_OTHER,
                suggestion=f"List the sessions with: {SESSIONS}",
            )
        if words.isdecimal() and not words.startswith("0") and int(words) <= len(listed):
            return listed[int(words) - 1].session_id
        return (await find_session(self._host.store, words)).session_id

    def _changed(self, **named: object) -> argparse.Namespace:
        return argparse.Namespace(**{**vars(self._flags), **named})

    async def _open(self, flags: argparse.Namespace, like: SessionSummary | None = None) -> SelectedSession:
        return await choose_session(
            self._host, flags, self._environ, only_own_turns=False, for_person=True, like=like
        )
