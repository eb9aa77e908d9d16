def parse_duration(text: str) -> int:
    """Seconds of a duration such as "90s", "5m", "1h30m" or "2d". ValueError for anything else."""
    raise NotImplementedError
