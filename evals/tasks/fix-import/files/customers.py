from orders import Order


class Customer:
    def __init__(self, name):
        self.name = name

    def order(self, item):
        return Order(self, item)
