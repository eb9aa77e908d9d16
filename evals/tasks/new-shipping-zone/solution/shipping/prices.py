"""Prices of parcels, in pence."""

import math

from shipping.zones import HIGHLANDS, ISLAND, MAINLAND, zone_of

_FIRST_KILO = {MAINLAND: 395, HIGHLANDS: 595, ISLAND: 845}
_FURTHER_KILO = {MAINLAND: 55, HIGHLANDS: 70, ISLAND: 90}
_EXPRESS = 350


class NotPossible(Exception):
    pass


def price(code, grams, *, express=False):
    if grams <= 0:
        raise ValueError("a parcel has a weight")
    zone = zone_of(code)
    further = max(math.ceil(grams / 1000) - 1, 0)
    total = _FIRST_KILO[zone] + further * _FURTHER_KILO[zone]
    if express:
        if zone != MAINLAND:
            raise NotPossible("no express to this address")
        total += _EXPRESS
    return total
