"""Zones by postal code."""

MAINLAND = "mainland"
HIGHLANDS = "highlands"
_PREFIXES = {
    "KW": HIGHLANDS,
    "IV": HIGHLANDS,
    "HS": HIGHLANDS,
}


def zone_of(code):
    code = code.replace(" ", "").upper()
    if len(code) < 5:
        raise ValueError(f"not a postal code: {code}")
    return _PREFIXES.get(code[:2], MAINLAND)
