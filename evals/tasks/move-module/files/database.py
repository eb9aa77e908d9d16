class Database:
    def __init__(self, name):
        self.name = name

    def open(self):
        return f"opened {self.name}"
