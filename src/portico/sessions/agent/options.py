"""Config options and modes of a session's agent, restored after the agent has lost them.

Only options that the person has set are restored. Values are given by id or by name.
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
    """`current` has the options that the agent reported last. Every change of them is an event."""

    def __init__(self, agent: str, journal: Journal) -> None:
        self.current: tuple[ConfigOption, ...] = ()
        self.chosen: tuple[str, ...] = ()
        self._agent = agent
        self._journal = journal
        self._modes: acp.SessionModeState | None = None
        self._older_modes = False

    def recall(self, config: ConfigUpdated) -> None:
        """Restore the options from the log, before an agent has reported any."""
        self.current, self.chosen = config.options, config.chosen

    def note(self, options: Iterable[acp.SessionConfigOption]) -> None:
        """Record the options that the agent reports."""
        listed = tuple(options)
        self._older_modes = self._modes is not None and all(option.category != MODE for option in listed)
        found = config_updated(listed, self._modes)
        self._take(found.options if found is not None else ())

    def note_mode(self, mode: str) -> None:
        """Record the mode that the agent reports."""
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
        """Set one option. InvalidInput, listing what is available, for an unknown name or value.

        Nothing is sent for a value that is set already, if the agent's values are `known`.
        """
        option = self._named(name)
        wanted = _value_of(option, value)
        if wanted != option.value or not known:
            await self._send(end, session_id, option, wanted)
        if option.option_id not in self.chosen:
            self._take(self.current, (*self.chosen, option.option_id))

    def set_by_person(self) -> dict[str, str | bool]:
        """Options set by the person, in the order in which they were first set, since one may affect another."""
        values = {option.option_id: option.value for option in self.current}
        return {option_id: values[option_id] for option_id in self.chosen if option_id in values}

    async def restore(
        self, end: ClientSideConnection, attached: AttachResult, chosen: Mapping[str, str | bool]
    ) -> None:
        """Record the options of a newly opened agent session, and set those that the person had chosen.

        An agent that continues its own session and reports no options has kept them.
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
        """The option by id, else by category, else by name."""
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
            f"The agent {self._agent} has no option {name}.", suggestion=f"Available: {there}."
        )

    def _take(self, options: tuple[ConfigOption, ...], chosen: tuple[str, ...] | None = None) -> None:
        chosen = self.chosen if chosen is None else chosen
        if (options, chosen) != (self.current, self.chosen):
            self.current, self.chosen = options, chosen
            self._journal.record(ConfigUpdated(options=options, chosen=chosen))


def describe_option(option: ConfigOption) -> str:
    """An option with its possible values."""
    values = [choice.value for choice in option.choices] or ["on", "off"]
    return f"{option.option_id} ({', '.join(values)})"


def _value_of(option: ConfigOption, wanted: str | bool) -> str | bool:
    """The value by id or name. InvalidInput, listing the values, if there is no such one."""
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
        raise InvalidInput(f"Unknown {option.option_id} {word!r}. Available: {values}.")
    return (exact or alike)[0].value


def _not_restored_notice(option_id: str, value: str | bool, why: str) -> Notice:
    shown = ("on" if value else "off") if isinstance(value, bool) else value
    return Notice(level="warning", text=f"The agent did not accept {option_id} = {shown} again: {why}")
