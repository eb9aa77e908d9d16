// Failures of calls, in the server's words where it answered.

import { Code, ConnectError } from "@connectrpc/connect";
import { ErrorCode, ErrorDetailsSchema } from "../generated/portico/v1/events_pb";
import type { Failure } from "./types";

/** Codes of calls that did not reach the server or lost it. */
const LOST = new Set([Code.Unknown, Code.Unavailable, Code.Aborted, Code.Canceled, Code.DeadlineExceeded]);

export function failureOf(reason: unknown): Failure {
  const error = ConnectError.from(reason);
  const [details] = error.findDetails(ErrorDetailsSchema);
  if (details !== undefined) {
    return {
      code: ErrorCode[details.code],
      message: error.rawMessage,
      suggestion: details.suggestion,
      recoverable: details.recoverable,
      details,
    };
  }
  if (isLost(error)) {
    return {
      code: "UNREACHABLE",
      message: "The Portico server is not responding.",
      suggestion:
        "Your last action may not have reached it. Try again when it is back, or start it with: portico serve",
      recoverable: true,
    };
  }
  if (isSignedOut(error)) {
    return {
      code: "UNAUTHENTICATED",
      message: "This page is not signed in to the Portico server.",
      suggestion: "Open the address that the server printed, or run: portico status",
      recoverable: false,
    };
  }
  const code = Code[error.code].replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase();
  return {
    code,
    message: error.rawMessage || "The server rejected the request.",
    suggestion: "",
    recoverable: false,
  };
}

/** Whether the call may or may not have reached the server, and may be tried again. */
export function isLost(reason: unknown): boolean {
  const error = ConnectError.from(reason);
  return LOST.has(error.code) && error.findDetails(ErrorDetailsSchema).length === 0;
}

export function isSignedOut(reason: unknown): boolean {
  const error = ConnectError.from(reason);
  const refused = error.code === Code.Unauthenticated || error.code === Code.PermissionDenied;
  return refused && error.findDetails(ErrorDetailsSchema).length === 0;
}
