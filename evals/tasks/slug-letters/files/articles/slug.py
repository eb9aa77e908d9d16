"""The part of an address that is made from a title."""

import re

LONGEST = 40


def slug_of(title):
    words = re.sub(r"[^a-z0-9]+", "-", title.lower())
    return words.strip("-")[:LONGEST]
