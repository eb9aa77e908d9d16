"""The program: python3 cli.py 3 1 2"""

import argparse

from draw import chart


def main(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("values", type=int, nargs="+")
    parser.add_argument("--color", "--colour", default="none")
    flags = parser.parse_args(words)
    return chart(flags.values, color=flags.color)


if __name__ == "__main__":
    print("\n".join(main()))
