"""Greets people."""

import argparse


def greeting(name: str) -> str:
    return f"Hello, {name}."


def main() -> None:
    parser = argparse.ArgumentParser(description="Greets people.")
    parser.add_argument("names", nargs="+")
    flags = parser.parse_args()
    for name in flags.names:
        print(greeting(name))


if __name__ == "__main__":
    main()
