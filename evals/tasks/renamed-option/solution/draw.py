"""Charts of letters."""

import warnings

_CODES = {"none": "", "red": "\x1b[31m", "green": "\x1b[32m"}


def chart(values, *, width=20, color=None, colour=None):
    """Return a line for each value, the largest as wide as the chart. `colour` is the old name of `color`."""
    if colour is not None:
        if color is not None:
            raise TypeError("color and colour are the same")
        warnings.warn("colour is now color", DeprecationWarning, stacklevel=2)
        color = colour
    color = "none" if color is None else color
    if color not in _CODES:
        raise ValueError(f"unknown color: {color}")
    largest = max(values, default=0) or 1
    end = "\x1b[0m" if _CODES[color] else ""
    return [f"{_CODES[color]}{'#' * round(width * value / largest)}{end}" for value in values]
