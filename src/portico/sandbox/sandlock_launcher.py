"""Runs a program in Sandlock and ends as it ended: a script by itself, with the settings as JSON and the command."""

import json
import sys


def main() -> int:
    from sandlock import Sandbox

    return int(Sandbox(**json.loads(sys.argv[1])).run_interactive(sys.argv[2:]))


if __name__ == "__main__":
    sys.exit(main())
