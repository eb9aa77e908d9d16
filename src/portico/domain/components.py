"""Components as sessions and doors see them: what a session has switched, and the state of each."""

from typing import Literal

from portico.domain.values import Value

ComponentState = Literal["on", "off", "idle", "failed"]


class ComponentStatus(Value, frozen=True, omit_defaults=False):
    """A component that is `idle` is on, and has nothing to work with here."""

    name: str
    state: ComponentState
    reason: str
    origin: str
    """`built in`, `package NAME` or `proxy`."""
    summary: str = ""
    fixed: bool = False
    """Whether a flag of the command decides, so that a session cannot."""


class SessionComponents(Value, frozen=True):
    """Components that one session switches on and off, whatever the settings say."""

    on: tuple[str, ...] = ()
    off: tuple[str, ...] = ()

    def switched(self, on: bool, name: str) -> "SessionComponents":
        """The same, with one component switched on or off."""
        kept = self.without(name)
        if on:
            return SessionComponents(on=(*kept.on, name), off=kept.off)
        return SessionComponents(on=kept.on, off=(*kept.off, name))

    def without(self, name: str) -> "SessionComponents":
        """The same, with one component as the settings have it."""
        return SessionComponents(
            on=tuple(one for one in self.on if one != name),
            off=tuple(one for one in self.off if one != name),
        )


AS_IN_SETTINGS = SessionComponents()
