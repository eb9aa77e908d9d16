"""Numbers taken in rounds. Contenders take turns, so that a busy machine slows all of them alike."""

import statistics
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import TypeVar

import msgspec

Found = TypeVar("Found")


class Samples(msgspec.Struct, frozen=True):
    """The same thing measured once in each round."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    def since(self, earlier: "Samples") -> "Samples":
        """The time between two moments, round by round."""
        return Samples(tuple(now - before for now, before in zip(self.values, earlier.values, strict=True)))

    def over(self, base: "Samples") -> "Samples":
        """The ratio to another contender, round by round: what slowed a round slowed both."""
        return Samples(tuple(mine / theirs for mine, theirs in zip(self.values, base.values, strict=True)))


def sample(rounds: Iterable[Found], value: Callable[[Found], float]) -> Samples:
    """One number out of what each round found."""
    return Samples(tuple(map(value, rounds)))


def take_turns(contenders: Mapping[str, Callable[[], Found]], rounds: int) -> dict[str, list[Found]]:
    """Results of each contender in each round: in alternating order, after a round that does not count."""
    found: dict[str, list[Found]] = {name: [] for name in contenders}
    for name, counts in _turns(contenders, rounds):
        one = contenders[name]()
        if counts:
            found[name].append(one)
    return found


async def take_turns_waiting(
    contenders: Mapping[str, Callable[[], Awaitable[Found]]], rounds: int
) -> dict[str, list[Found]]:
    """The same for contenders that are waited for."""
    found: dict[str, list[Found]] = {name: [] for name in contenders}
    for name, counts in _turns(contenders, rounds):
        one = await contenders[name]()
        if counts:
            found[name].append(one)
    return found


def time_in_turns(contenders: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, Samples]:
    """The same for contenders that find one number each."""
    return {name: Samples(tuple(values)) for name, values in take_turns(contenders, rounds).items()}


def _turns(names: Iterable[str], rounds: int) -> Iterator[tuple[str, bool]]:
    """Next contender, and whether the round counts."""
    for number in range(-1, rounds):
        for name in sorted(names, reverse=number % 2 == 1):
            yield name, number >= 0
