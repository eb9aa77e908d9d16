def slug(title):
    return "-".join(title.lower().split())


def shout(title):
    return title.upper() + "!"


def short(title, length=10):
    return title if len(title) <= length else title[: length - 1] + "…"
