"""A failure as `--api` reports it to programs."""

import msgspec

from portico.domain.errors import ErrorCode, PorticoError


class FailureDiagnostics(msgspec.Struct, frozen=True):
    error_code: ErrorCode
    suggestion: str | None
    trace_id: str
    exit_code: int


class FailureReport(msgspec.Struct, frozen=True):
    error: str
    diagnostics: FailureDiagnostics
    status: str = "failed"


def make_failure_report(error: PorticoError, trace_id: str) -> FailureReport:
    diagnostics = FailureDiagnostics(error.code, error.suggestion, trace_id, int(error.exit_code))
    return FailureReport(error.message, diagnostics)
