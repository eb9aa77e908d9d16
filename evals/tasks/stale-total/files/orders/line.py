"""One line of an order."""


class Line:
    computed = 0
    """How often an amount was computed."""

    def __init__(self, name, price, quantity):
        self.name = name
        self.price = price
        self.quantity = quantity

    def amount(self):
        Line.computed += 1
        return self.price * self.quantity
