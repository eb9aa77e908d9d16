"""Verbs of a script: name, shape of the argument, action; and the check of steps.

A shape is a type, a tuple of types, `StepList` for a list of further steps, or a dict of fields whose names end in
"?" where they may be left out.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from portico.testing.agent.turn import ScriptedTurn

    Action = Callable[[ScriptedTurn, Any], None]
    Shape = Any

NUMBER = (int, float)


class StepList:
    """The shape of a list of steps."""


class Verb:
    def __init__(self, shape: Shape, action: Action) -> None:
        self.shape = shape
        self.action = action


class Verbs(dict[str, Verb]):
    """Verbs by name. A function becomes the verb of its own name with `@verbs.takes(shape)`."""

    def takes(self, shape: Shape) -> Callable[[Action], Action]:
        def add(action: Action) -> Action:
            self[action.__name__] = Verb(shape, action)
            return action

        return add


def problems(value: object, shape: Shape, where: str, verbs: Mapping[str, Verb]) -> Iterator[str]:
    """Every way in which a value differs from its shape, each with the place where it does."""
    if shape is StepList:
        yield from _problems_of_steps(value, where, verbs)
    elif isinstance(shape, dict):
        yield from _problems_of_fields(value, shape, where, verbs)
    elif not isinstance(value, shape) or (isinstance(value, bool) and shape in (int, NUMBER)):
        kinds = shape if isinstance(shape, tuple) else (shape,)
        yield f"{where} takes {' or '.join(kind.__name__ for kind in kinds)}, not {value!r}"


def _problems_of_steps(value: object, where: str, verbs: Mapping[str, Verb]) -> Iterator[str]:
    if not isinstance(value, list):
        yield f"{where} takes a list of steps, not {value!r}"
        return
    for index, step in enumerate(value):
        place = f"{where}[{index}]"
        if not isinstance(step, dict) or len(step) != 1:
            yield f"{place} is not an object with one verb: {step!r}"
            continue
        ((name, argument),) = step.items()
        if name in verbs:
            yield from problems(argument, verbs[name].shape, f"{place}.{name}", verbs)
        else:
            yield f"{place}: there is no verb {name!r}; there are {', '.join(sorted(verbs))}"


def _problems_of_fields(
    value: object, shape: dict[str, Shape], where: str, verbs: Mapping[str, Verb]
) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{where} takes an object, not {value!r}"
        return
    fields = {name.removesuffix("?"): kind for name, kind in shape.items()}
    for name in shape:
        if not name.endswith("?") and name not in value:
            yield f"{where} needs {name!r}"
    for name, field in value.items():
        if name in fields:
            yield from problems(field, fields[name], f"{where}.{name}", verbs)
        else:
            yield f"{where} has no field {name!r}; it has {', '.join(sorted(fields)) or 'none'}"
