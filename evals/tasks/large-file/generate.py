"""Writes a table of six thousand squares, one of them wrong."""

import pathlib

COUNT = 6000
WRONG = 4321

lines = [f"    {n}: {n * n + (n == WRONG)},  # the square of {n}" for n in range(1, COUNT + 1)]
pathlib.Path("squares.py").write_text("\n".join(("SQUARES = {", *lines, "}", "")))
