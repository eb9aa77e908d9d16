"""`python -m portico` is the same program as the console script `portico`."""

import sys

from portico.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
