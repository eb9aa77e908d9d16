"""Reports with charts."""

from draw import chart


def sales(numbers):
    return chart(numbers, width=10, color="green")


def losses(numbers):
    return chart(numbers, width=10, color="red")
