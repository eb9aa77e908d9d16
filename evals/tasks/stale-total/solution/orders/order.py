"""An order: its lines and their total, in cents."""

from orders.line import Line


class Order:
    def __init__(self):
        self._lines = {}
        self._total = None

    def add(self, name, price, quantity=1):
        self._lines[name] = Line(name, price, quantity)
        self._total = None

    def remove(self, name):
        del self._lines[name]
        self._total = None

    def change_quantity(self, name, quantity):
        if quantity < 0:
            raise ValueError("a quantity is not negative")
        if quantity == 0:
            self.remove(name)
        else:
            self._lines[name].quantity = quantity
            self._total = None

    @property
    def total(self):
        if self._total is None:
            self._total = sum(line.amount() for line in self._lines.values())
        return self._total
