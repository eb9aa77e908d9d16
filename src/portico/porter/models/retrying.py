"""How often and how long to wait before a request is sent again."""

import random

import msgspec


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """Pauses double from `first` to `longest`. A provider that asks for more than `patience` is not waited for."""

    attempts: int = 5
    first: float = 1.0
    longest: float = 30.0
    patience: float = 60.0

    def pause(self, attempt: int, asked: float | None) -> float | None:
        """Seconds to wait after this attempt failed, the first being 1; None to give up."""
        if attempt >= self.attempts or (asked is not None and asked > self.patience):
            return None
        if asked is not None:
            return asked
        # Half of it by chance, so that many who failed together do not come back together.
        full = min(self.first * 2.0 ** (attempt - 1), self.longest)
        return full * random.uniform(0.5, 1.0)
