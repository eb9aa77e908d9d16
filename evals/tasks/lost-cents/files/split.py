"""Divides an amount among people."""


def split(cents, people):
    """Return equal shares, in the order of the people."""
    if not people:
        raise ValueError("nobody pays")
    return {name: cents // len(people) for name in people}


def split_by(cents, weights):
    """Return shares in proportion to weights, a dict of name and a positive number."""
    whole = sum(weights.values())
    return {name: cents * weight // whole for name, weight in weights.items()}
