from customers import Customer


class Order:
    def __init__(self, customer, item):
        assert isinstance(customer, Customer)
        self.customer = customer
        self.item = item

    def label(self):
        return f"{self.item} for {self.customer.name}"
