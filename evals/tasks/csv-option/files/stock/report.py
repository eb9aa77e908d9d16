"""The stock as a table."""


def table(items):
    width = max((len(item.name) for item in items), default=0)
    return [f"{item.name:<{width}}  {item.count:>5}  {item.place}" for item in items]
