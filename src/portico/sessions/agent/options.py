"""Config options and modes of a session's agent, set again after the agent has lost them.

What a person has set is set again when the agent has lost it; what the agent changes by itself is
only noted. A value is given by its id or by its name, as a person would type it.
"""

from collections.abc import Iterable, Mapping

import msgspec

from portico.acp import _schema as acp
from portico.acp.client import ClientSideConnection
from portico.domain.errors import InvalidInput, PorticoError
from portico.domain.events import ConfigUpdated, Notice
from portico.domain.values import ConfigOption
from portico.rpc.messages import RpcError
from portico.sessions.agent.resume import AttachResult
from portico.sessions.content.translation import config_updated
from portico.sessions.log.journal import Journal

_ON = ("on", "true", "yes", "1")
_OFF = ("off", "false", "no", "0")
MODE = "mode"


class SessionOptions:
    """`current` is what the agent said last. Every change of it, and of what a person chose, is an event."""

    def __init__(self, agent: str, journal: Journal) -> None:
        self.current: tuple[ConfigOption, ...] = ()
        self.chosen: tuple[str, ...] = ()
        self._agent = agent
        self._journal = journal
        self._modes: acp.SessionModeState | None = None
        self._older_modes = False

    def recall(self, config: ConfigUpdated) -> None:
        """Take what the log says, before an agent has said anything."""
        self.current, self.chosen = config.options, config.chosen

    def note(self, options: Iterable[acp.SessionConfigOption]) -> None:
        """The agent says what it can be set to, and is."""
        listed = tuple(options)
        self._older_modes = self._modes is not None and all(option.category != MODE for option in listed)
        found = config_updated(listed, self._modes)
        self._take(found.options if found is not None else ())

    def note_mode(self, mode: str) -> None:
        """The agent says in which mode it is."""
        if self._modes is not None:
            self._modes = msgspec.structs.replace(self._modes, current_mode_id=mode)
        self._take(
            tuple(
                msgspec.structs.replace(option, value=mode) if option.category == MODE else option
                for option in self.current
            )
        )

    async def set(
        self, end: ClientSideConnection, session_id: str, name: str, value: str | bool, *, known: bool = True
    ) -> None:
        """Set one option. InvalidInput, with what there is, for a name or a value that there is not.

        Nothing is sent for what is set already, if it is `known` how the agent is set.
        """
        option = self._named(name)
        wanted = _value_of(option, value)
        if wanted != option.value or not known:
            await self._send(end, session_id, option, wanted)
        if option.option_id not in self.chosen:
            self._take(self.current, (*self.chosen, option.option_id))

    def set_by_person(self) -> dict[str, str | bool]:
        """In the order in which they were set first: one may decide what another can be."""
        values = {option.option_id: option.value for option in self.current}
        return {option_id: values[option_id] for option_id in self.chosen if option_id in values}

    async def restore(
        self, end: ClientSideConnection, attached: AttachResult, chosen: Mapping[str, str | bool]
    ) -> None:
        """The agent has opened the session: note how it is set, and set again what a person had chosen.

        One that goes on with its own session and says nothing of options has those that it had.
        """
        telling = bool(attached.config_options) or attached.modes is not None
        known = telling or attached.session.attached_by in ("new", "replay")
        if known:
            self._modes = attached.modes
            self.note(attached.config_options)
        for option_id, value in chosen.items():
            try:
                await self.set(end, attached.session.agent_session_id, option_id, value, known=known)
            except (RpcError, PorticoError) as error:
                why = error.reason if isinstance(error, RpcError) else error.message
                self._journal.record(_not_restored_notice(option_id, value, why))

    async def _send(
        self, end: ClientSideConnection, session_id: str, option: ConfigOption, value: str | bool
    ) -> None:
        if self._older_modes and option.category == MODE and isinstance(value, str):
            await end.set_mode(acp.SetSessionModeRequest(session_id=session_id, mode_id=value))
            self.note_mode(value)
            return
        request = acp.SetSessionConfigOptionRequest(
            session_id=session_id,
            config_id=option.option_id,
            type="boolean" if isinstance(value, bool) else None,
            value=value,
        )
        self.note((await end.set_config_option(request)).config_options)

    def _named(self, name: str) -> ConfigOption:
        """By id, else by category, else by what people call it."""
        folded = name.casefold()
        for found in (
            [option for option in self.current if option.option_id == name],
            [option for option in self.current if option.category == name],
            [option for option in self.current if option.name.casefold() == folded],
        ):
            if len(found) == 1:
                return found[0]
            if found:
                ids = ", ".join(option.option_id for option in found)
                raise InvalidInput(f"The agent {self._agent} has several options called {name}: {ids}.")
        there = "; ".join(map(describe_option, self.current)) or "none"
        raise InvalidInput(
            f"The agent {self._agent} offers no choice of {name}.", suggestion=f"Its options: {there}."
        )

    def _take(self, options: tuple[ConfigOption, ...], chosen: tuple[str, ...] | None = None) -> None:
        chosen = self.chosen if chosen is None else chosen
        if (options, chosen) != (self.current, self.chosen):
            self.current, self.chosen = options, chosen
            self._journal.record(ConfigUpdated(options=options, chosen=chosen))


def describe_option(option: ConfigOption) -> str:
    """An option with the values that it can have."""
    values = [choice.value for choice in option.choices] or ["on", "off"]
    return f"{option.option_id} ({', '.join(values)})"


def _value_of(option: ConfigOption, wanted: str | bool) -> str | bool:
    """The value that a person means. InvalidInput, with those that there are, if there is none."""
    if isinstance(option.value, bool):
        if isinstance(wanted, bool):
            return wanted
        if wanted.casefold() in _ON + _OFF:
            return wanted.casefold() in _ON
        raise InvalidInput(f"{option.option_id} is on or off, not {wanted!r}.")
    word = str(wanted)
    exact = [choice for choice in option.choices if choice.value == word]
    alike = [
        choice
        for choice in option.choices
        if word.casefold() in (choice.value.casefold(), choice.name.casefold())
    ]
    if not exact and not alike and option.open:
        return word
    if not exact and not alike:
        values = ", ".join(choice.value for choice in option.choices)
        raise InvalidInput(f"{word!r} is no {option.option_id} that there is; there are {values}.")
    return (exact or alike)[0].value


def _not_restored_notice(option_id: str, value: str | bool, why: str) -> Notice:
    shown = ("on" if value else "off") if isinstance(value, bool) else value
    return Notice(level="warning", text=f"The agent did not take {option_id} = {shown} again: {why}")
