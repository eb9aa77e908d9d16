"""What everyone has to pay."""

from money import format_money, parse_money
from split import split, split_by


def bill(total, people, weights=None):
    shares = split_by(parse_money(total), weights) if weights else split(parse_money(total), people)
    return [f"{name}: {format_money(share)}" for name, share in shares.items()]
