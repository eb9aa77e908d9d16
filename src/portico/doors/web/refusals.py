"""How a call is refused: a status for HTTP, a code and a sentence in the shape that Connect clients read."""

from collections.abc import Iterable
from typing import Literal

import msgspec

from portico.doors.web.asgi import Answer
from portico.doors.web.headers import Header

Code = Literal[
    "internal",
    "not_found",
    "permission_denied",
    "resource_exhausted",
    "unauthenticated",
    "unavailable",
    "unimplemented",
]


class Refusal(msgspec.Struct, frozen=True):
    code: Code
    message: str


class Refused(Exception):
    """A call that goes no further."""

    def __init__(self, status: int, code: Code, message: str, headers: Iterable[Header] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.refusal = Refusal(code, message)
        self.headers = tuple(headers)

    async def tell(self, answer: Answer) -> None:
        await answer.json(self.status, self.refusal, self.headers)


def wrong_method(*allowed: str) -> Refused:
    names = ", ".join(allowed)
    return Refused(405, "unimplemented", f"This address takes {names}.", [(b"allow", names.encode())])
