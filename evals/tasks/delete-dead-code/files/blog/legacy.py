from blog.text import shout


def headline(title):
    return shout(title)
