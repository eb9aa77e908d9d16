"""The part of an address that is made from a title."""

import re
import unicodedata

LONGEST = 40
_NONE = "untitled"


def slug_of(title):
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    words = re.sub(r"[^a-z0-9]+", "-", plain.lower())
    return words.strip("-")[:LONGEST].rstrip("-") or _NONE
