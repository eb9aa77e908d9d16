"""Pages of messages. A cursor is the number of the last message of a page, as text."""


def page(store, size, cursor=None):
    """Return the messages of a page, and the cursor of the next one or None."""
    if size < 1:
        raise ValueError("a page has at least one message")
    start = 0 if cursor is None else int(cursor) + 1
    found = store.from_number(start, size + 1)
    return found[:size], str(found[size - 1]) if len(found) > size else None
