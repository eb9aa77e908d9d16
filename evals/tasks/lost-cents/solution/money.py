"""Amounts of money, in cents."""


def format_money(cents):
    sign = "-" if cents < 0 else ""
    return f"{sign}{abs(cents) // 100}.{abs(cents) % 100:02}"


def parse_money(text):
    whole, _, rest = text.partition(".")
    return int(whole) * 100 + int(rest.ljust(2, "0")[:2])
