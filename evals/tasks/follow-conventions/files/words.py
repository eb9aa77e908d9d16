__all__ = ["count"]


def count(text):
    return len(text.split())
