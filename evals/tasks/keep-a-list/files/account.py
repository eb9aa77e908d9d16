class Account:
    def __init__(self):
        self.balance = 0

    def withdraw(self, amount):
        self.balance -= amount
