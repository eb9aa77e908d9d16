"""Numbers taken in rounds. Contenders take turns, so that a busy machine slows all of them alike."""

import statistics
from collections.abc import Callable, Mapping

import msgspec


class Samples(msgspec.Struct, frozen=True):
    """The same thing measured once in each round."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    def over(self, base: "Samples") -> "Samples":
        """The ratio to another contender, round by round: what slowed a round slowed both."""
        return Samples(tuple(mine / theirs for mine, theirs in zip(self.values, base.values, strict=True)))


def take_turns(contenders: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, Samples]:
    """Each contender once a round, in alternating order, after one round that does not count."""
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(-1, rounds):
        for name in sorted(contenders, reverse=number % 2 == 1):
            value = contenders[name]()
            if number >= 0:
                taken[name].append(value)
    return {name: Samples(tuple(values)) for name, values in taken.items()}
