"""`portico version`: prints the version; imports nothing, to show how fast a command starts."""

from collections.abc import Sequence

from portico import __version__


def run(arguments: Sequence[str]) -> int:
    if "--help" in arguments or "-h" in arguments:
        print("usage: portico version [--api]")
        return 0
    if unknown := [word for word in arguments if word != "--api"]:
        from portico.domain.errors import InvalidInput

        raise InvalidInput(
            f"portico version does not take {unknown[0]!r}.", suggestion="It takes --api only."
        )
    if arguments:
        print(f'{{"status":"ok","name":"portico","version":"{__version__}"}}')
    else:
        print(f"portico {__version__}")
    return 0
