from database import Database


def make():
    return Database("main.db")


def start():
    return make().open()
