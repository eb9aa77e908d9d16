"""Amounts of money, in cents."""


def format_money(cents):
    return f"{cents // 100}.{cents % 100:02}" if cents >= 0 else f"{int(cents / 100)}.{cents % -100}"


def parse_money(text):
    whole, _, rest = text.partition(".")
    return int(whole) * 100 + int(rest.ljust(2, "0")[:2])
