# what mail.py was before
def is_address(text):
    return True
