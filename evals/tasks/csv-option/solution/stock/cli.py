"""The program: python3 -m stock.cli"""

import argparse
import sys

from stock.items import ITEMS, at_most
from stock.report import FORMATS


def main(words=None, out=sys.stdout):
    parser = argparse.ArgumentParser(prog="stock")
    parser.add_argument("--low", type=int, metavar="N", help="only items of which there are at most N")
    parser.add_argument("--format", choices=FORMATS, default="table", help="how the report is printed")
    flags = parser.parse_args(words)
    items = list(ITEMS) if flags.low is None else at_most(ITEMS, flags.low)
    for line in FORMATS[flags.format](items):
        print(line, file=out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
