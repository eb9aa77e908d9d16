"""Stand-alone program that runs a command in Sandlock and exits as it exits."""

import json
import os
import sys


def main() -> int:
    from sandlock import Sandbox

    settings = json.loads(sys.argv[1])
    # One path that is gone by now would keep the program from starting.
    for name in ("fs_readable", "fs_writable"):
        settings[name] = [path for path in settings[name] if os.path.exists(path)]  # noqa: PTH110 - starts faster
    return int(Sandbox(**settings).run_interactive(sys.argv[2:]))


if __name__ == "__main__":
    sys.exit(main())
