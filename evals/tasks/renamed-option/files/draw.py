"""Charts of letters."""

_CODES = {"none": "", "red": "\x1b[31m", "green": "\x1b[32m"}


def chart(values, *, width=20, colour="none"):
    """Return a line for each value, the largest as wide as the chart."""
    if colour not in _CODES:
        raise ValueError(f"unknown color: {colour}")
    largest = max(values, default=0) or 1
    end = "\x1b[0m" if _CODES[colour] else ""
    return [f"{_CODES[colour]}{'#' * round(width * value / largest)}{end}" for value in values]
