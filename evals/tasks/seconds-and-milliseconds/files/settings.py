"""Settings of the service. Every duration in the file is in milliseconds, as its name says."""

from dataclasses import dataclass

DEFAULTS = {"cache_ttl_ms": 60_000, "cache_size": 100, "request_timeout_ms": 5_000}


@dataclass(frozen=True)
class Settings:
    cache_ttl_ms: int
    cache_size: int
    request_timeout_ms: int


def load(text):
    """Read lines such as `cache_size = 10`; what is missing has its default."""
    values = dict(DEFAULTS)
    for line in text.splitlines():
        line = line.partition("#")[0].strip()
        if not line:
            continue
        name, _, value = line.partition("=")
        if name.strip() not in DEFAULTS:
            raise ValueError(f"unknown setting: {name.strip()}")
        values[name.strip()] = int(value)
    return Settings(**values)
