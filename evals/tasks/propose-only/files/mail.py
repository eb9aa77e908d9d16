def is_address(text):
    return "@" in text
