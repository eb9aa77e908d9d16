"""Program that builds the clients of two providers in two threads at once, and prints who imported when.

Each character is one import of a package: `a` by the first thread, `b` by the second.
"""

import sys
import threading

from portico.porter.models.clients import RequestTarget, build_client
from portico.porter.models.providers import BUILT_IN

KINDS = ("openai", "openai-chat")


def main() -> None:
    sys.setswitchinterval(1e-5)
    order: list[str] = []
    names: dict[int, str] = {}
    start = threading.Barrier(len(KINDS))

    def record(event: str, _: object) -> None:
        if event == "import" and (name := names.get(threading.get_ident())):
            order.append(name)

    def work(name: str, kind: str) -> None:
        provider = BUILT_IN[kind]
        place = RequestTarget(provider=provider, model=provider.example, address=None, key="k", environ={})
        start.wait(60)
        names[threading.get_ident()] = name
        build_client(place)
        del names[threading.get_ident()]

    sys.addaudithook(record)
    threads = [threading.Thread(target=work, args=pair) for pair in zip("ab", KINDS, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("".join(order))


if __name__ == "__main__":
    main()
