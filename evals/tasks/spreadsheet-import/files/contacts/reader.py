"""Reads rows from the bytes of a CSV file."""

import csv
import io


def rows(data):
    """Yield each row as a dict."""
    text = data.decode("utf-8")
    yield from csv.DictReader(io.StringIO(text))
