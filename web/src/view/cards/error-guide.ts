// Titles of errors, and actions for each.

import { ErrorCode } from "../../generated/portico/v1/events_pb";

export type ErrorAction =
  | "retry"
  | "install"
  | "other_agent"
  | "sign_in"
  | "connect"
  | "new_session"
  | "stop_other"
  | "queue"
  | "worktree"
  | "read_only"
  | "report";

export interface ErrorGuide {
  readonly title: string;
  /** A warning stops nothing. */
  readonly tone: "bad" | "warning";
  /** In the order they are offered; the first one is the most likely to help. */
  readonly actions: readonly ErrorAction[];
}

/** `modelFailure` is what the model behind the agent did, as `ErrorDetails` has it. */
export function guideFor(code: ErrorCode, modelFailure = ""): ErrorGuide {
  switch (code) {
    case ErrorCode.AGENT_NOT_FOUND:
      return bad("The agent is not installed", "install", "retry", "other_agent");
    case ErrorCode.AGENT_CRASHED:
      return bad("The agent stopped working", "retry", "report");
    case ErrorCode.AUTH_REQUIRED:
      return bad("The agent needs you to sign in", "sign_in", "connect", "retry");
    case ErrorCode.NETWORK_TIMEOUT:
      return bad(modelFailure === "" ? "The agent timed out" : "The model did not answer", "retry");
    case ErrorCode.CONTEXT_LIMIT:
      return bad("The context window is full", "new_session");
    case ErrorCode.MALFORMED_EVENT:
      return {
        title: "The agent sent an invalid message",
        tone: "warning",
        actions: ["retry", "report"],
      };
    case ErrorCode.SESSION_NOT_FOUND:
      return bad("Session not found", "new_session");
    case ErrorCode.SESSION_BUSY:
      return bad("Another session is working in this folder", "stop_other", "queue", "worktree", "read_only");
    case ErrorCode.BUDGET_EXCEEDED:
      return bad("Budget exceeded", "retry", "new_session");
    case ErrorCode.PERMISSION_DENIED:
      return bad("Permission denied", "retry");
    case ErrorCode.INVALID_INPUT:
      return bad("Invalid request", "retry");
    case ErrorCode.INTERNAL:
    case ErrorCode.UNSPECIFIED:
      return modelGuide(modelFailure) ?? bad("Something went wrong", "retry", "report");
  }
}

function modelGuide(failure: string): ErrorGuide | undefined {
  switch (failure) {
    case "busy":
      return bad("The model is busy", "retry");
    case "refused":
      return bad("The model refused to answer", "retry", "new_session");
    case "failed":
      return bad("The model reported an error", "retry", "report");
    default:
      return undefined;
  }
}

function bad(title: string, ...actions: readonly ErrorAction[]): ErrorGuide {
  return { title, tone: "bad", actions };
}

const PROGRAMS = /\b(?:npm|npx|pnpm|yarn|pip|pipx|uv|uvx|brew|cargo|go|curl|portico|sudo|chmod) \S.*$/m;

/** The command in a hint that a person could run as it stands. */
export function commandIn(hint: string): string | undefined {
  const quoted = /`([^`]+)`/.exec(hint)?.[1];
  return quoted ?? PROGRAMS.exec(hint)?.[0].replace(/\.$/, "");
}

/** The variable that an agent's key usually stands in: the one that the hint names, if it names one. */
export function likelyVariable(agent: string, hint = ""): string {
  const named = /\b[A-Z][A-Z0-9_]*_(?:KEY|TOKEN)\b/.exec(hint)?.[0];
  if (named !== undefined) return named;
  switch (agent) {
    case "claude":
      return "ANTHROPIC_API_KEY";
    case "codex":
      return "OPENAI_API_KEY";
    case "copilot":
      return "GH_TOKEN";
    case "gemini":
      return "GEMINI_API_KEY";
    case "qwen":
      return "DASHSCOPE_API_KEY";
    default:
      return "";
  }
}

/** Error report for a maintainer, without anything of the conversation. */
export function reportText(facts: {
  readonly code: string;
  readonly message: string;
  readonly agent: string;
  readonly exitStatus?: string;
  readonly stderr?: string;
  readonly version: string;
  readonly sessionId: string;
}): string {
  const { exitStatus = "", stderr = "" } = facts;
  const lines = [
    `Portico ${facts.version}`,
    `Error: ${facts.code}: ${facts.message}`,
    facts.agent === "" ? "" : `Agent: ${facts.agent}`,
    exitStatus === "" ? "" : `Ended with: ${exitStatus}`,
    `Session: ${facts.sessionId}`,
    stderr === "" ? "" : `\n${stderr.trimEnd()}`,
  ];
  return lines.filter((line) => line !== "").join("\n");
}
