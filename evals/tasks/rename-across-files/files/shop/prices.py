def calc(prices):
    """Like a calculator: the sum."""
    return sum(prices)
