"""How often and how long."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Policy:
    """`attempts` in all. The first wait is `first` seconds, each further one twice as long, none over `longest`."""

    attempts: int = 3
    first: float = 1.0
    longest: float = 30.0

    def waits(self):
        """Yield the seconds to wait after each failure."""
        seconds = self.first
        for _ in range(self.attempts):
            yield seconds
            seconds *= 2
