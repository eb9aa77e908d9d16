"""Failures of calls: each with a code that clients know, and what a card shows."""

from collections.abc import AsyncIterator

import pytest
from connectrpc.code import Code
from connectrpc.errors import ConnectError

from portico.api.v1 import events_pb
from portico.domain import errors
from portico.domain.errors import ErrorCode, ErrorDetails, PorticoError
from portico.doors.api.error_interceptor import ErrorInterceptor, to_connect_error


def subclasses(kind: type[PorticoError]) -> list[type[PorticoError]]:
    return [kind, *(one for child in kind.__subclasses__() for one in subclasses(child))]


def details_of(error: ConnectError) -> events_pb.ErrorDetails:
    (detail,) = error.details
    assert detail.type_name == "portico.v1.ErrorDetails"
    return events_pb.ErrorDetails.from_binary(detail.message_bytes)


@pytest.mark.parametrize("kind", subclasses(PorticoError))
def test_every_failure_that_has_a_name_carries_its_details(kind: type[PorticoError]) -> None:
    given = ErrorDetails(agent="a", stderr="last words", exit_status="exit code 3", auth_methods=("key",))
    answer = to_connect_error(kind("It did not work.", suggestion="Try again.", details=given))
    assert answer.message == "It did not work."
    details = details_of(answer)
    assert details.code.name == kind.code.value
    assert (details.suggestion, details.agent, details.stderr) == ("Try again.", "a", "last words")
    assert (details.exit_status, list(details.auth_methods)) == ("exit code 3", ["key"])
    assert details.recoverable == kind.recoverable


def test_every_code_has_one_of_the_contract() -> None:
    for code in ErrorCode:
        assert events_pb.ErrorCode[code.name]


async def test_calls_and_streams_fail_alike() -> None:
    async def call(request: object, ctx: object) -> None:
        raise errors.SessionNotFound("There is no such session.")

    async def stream(request: object, ctx: object) -> AsyncIterator[int]:
        yield 1
        raise errors.SessionBusy("Another one has it.")

    failures = ErrorInterceptor()
    with pytest.raises(ConnectError) as unary:
        await failures.intercept_unary(call, None, None)  # type: ignore[arg-type]
    assert unary.value.code is Code.NOT_FOUND
    answers = failures.intercept_server_stream(stream, None, None)  # type: ignore[arg-type]
    assert await anext(answers) == 1
    with pytest.raises(ConnectError) as streamed:
        await anext(answers)
    assert streamed.value.code is Code.ABORTED


async def test_a_failure_without_a_name_shows_nothing_of_our_insides(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def call(request: object, ctx: object) -> None:
        raise KeyError("token=very-secret")

    with pytest.raises(ConnectError) as failed:
        await ErrorInterceptor().intercept_unary(call, None, None)  # type: ignore[arg-type]
    assert failed.value.code is Code.INTERNAL
    assert "secret" not in failed.value.message
    assert "secret" not in repr(details_of(failed.value))
    assert "unexpected error in a call" in caplog.text
