from shop.prices import calc


def report(prices):
    return f"total: {calc(prices)}"
