"""Zones by postal code."""

MAINLAND = "mainland"
HIGHLANDS = "highlands"
ISLAND = "island"
_PREFIXES = {
    "KW": HIGHLANDS,
    "IV": HIGHLANDS,
    "HS": HIGHLANDS,
    "IM": ISLAND,
    "JE": ISLAND,
    "GY": ISLAND,
}


def zone_of(code):
    code = code.replace(" ", "").upper()
    if len(code) < 5:
        raise ValueError(f"not a postal code: {code}")
    return _PREFIXES.get(code[:2], MAINLAND)
