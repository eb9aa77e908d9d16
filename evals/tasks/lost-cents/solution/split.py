"""Divides an amount among people."""


def split(cents, people):
    """Return equal shares, in the order of the people. The first pay what is left over."""
    if not people:
        raise ValueError("nobody pays")
    return split_by(cents, dict.fromkeys(people, 1))


def split_by(cents, weights):
    """Return shares in proportion to weights, a dict of name and a positive number."""
    whole = sum(weights.values())
    shares = {name: cents * weight // whole for name, weight in weights.items()}
    left = cents - sum(shares.values())
    for name in list(shares)[:left]:
        shares[name] += 1
    return shares
