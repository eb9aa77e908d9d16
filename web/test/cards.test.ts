// The words and choices of the cards: which error is offered which way out, what was decided, what a form sends.

import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { ReviewMode, SessionSummarySchema, type SessionSummary } from "../src/generated/portico/v1/agent_pb";
import {
  DecidedBy,
  ErrorCode,
  PermissionOptionKind,
  PermissionOutcome,
  PermissionRequestedSchema,
  PermissionResolvedSchema,
  PermissionRisk,
  PermissionScope,
  QuestionFieldSchema,
  TurnEndedSchema,
  ToolKind,
  TurnState,
  type PermissionResolved,
  type QuestionField,
} from "../src/generated/portico/v1/events_pb";
import type { Item } from "../src/model/types";
import { isLatest } from "../src/view/cards/card";
import { keyProblem } from "../src/view/cards/key-form";
import { endText } from "../src/view/cards/end-line";
import { commandIn, likelyVariable, guideFor, reportText } from "../src/view/cards/error-guide";
import { writerIn } from "../src/view/cards/folder-writers";
import { acceptedEdit } from "../src/view/cards/auto-accept";
import {
  answerLabel,
  commandOf,
  decisionLabel,
  onceOption,
  shortTitle,
} from "../src/view/cards/permission-labels";
import { isToldInFull } from "../src/view/cards/notice-line";
import { isLongText, isRadioGroup } from "../src/view/cards/question-field";
import { contentOf, firstValues, problemsOf } from "../src/view/cards/question-form";

type Facts<Message> = Partial<Omit<Message, "$typeName" | "$unknown">>;

describe("an error", () => {
  it.each([
    [ErrorCode.AGENT_NOT_FOUND, ["install", "retry", "other_agent"]],
    [ErrorCode.AGENT_CRASHED, ["retry", "report"]],
    [ErrorCode.AUTH_REQUIRED, ["sign_in", "connect", "retry"]],
    [ErrorCode.NETWORK_TIMEOUT, ["retry"]],
    [ErrorCode.CONTEXT_LIMIT, ["new_session"]],
    [ErrorCode.SESSION_BUSY, ["stop_other", "queue", "worktree", "read_only"]],
    [ErrorCode.INTERNAL, ["retry", "report"]],
  ])("with code %i has its ways out", (code, actions) => {
    expect(guideFor(code).actions).toEqual(actions);
  });

  it.each([
    [ErrorCode.INTERNAL, "busy", "The model is busy", ["retry"]],
    [ErrorCode.INTERNAL, "refused", "The model refused to answer", ["retry", "new_session"]],
    [ErrorCode.INTERNAL, "failed", "The model reported an error", ["retry", "report"]],
    [ErrorCode.NETWORK_TIMEOUT, "silent", "The model did not answer", ["retry"]],
    [ErrorCode.CONTEXT_LIMIT, "full", "The context window is full", ["new_session"]],
    [ErrorCode.INTERNAL, "something new", "Something went wrong", ["retry", "report"]],
  ])("with code %i of a model that was %s says so", (code, failure, title, actions) => {
    expect(guideFor(code, failure)).toMatchObject({ title, actions });
  });

  it("names the variable of the key that is missing", () => {
    expect(likelyVariable("porter", "Set MISTRAL_API_KEY, or sign in with: portico auth login mistral")).toBe(
      "MISTRAL_API_KEY",
    );
    expect(likelyVariable("codex", "Sign in first.")).toBe("OPENAI_API_KEY");
  });

  it("that makes no sense is a warning", () => {
    expect(guideFor(ErrorCode.MALFORMED_EVENT).tone).toBe("warning");
  });

  it("of every code has a title and a way out", () => {
    for (const code of Object.values(ErrorCode).filter((one): one is ErrorCode => typeof one === "number")) {
      expect(guideFor(code).title).not.toBe("");
      expect(guideFor(code).actions).not.toEqual([]);
    }
  });

  it("has the command that its hint names", () => {
    expect(commandIn("Install it: npm install --global @scope/agent")).toBe(
      "npm install --global @scope/agent",
    );
    expect(commandIn("Sign in (browser or key): portico agents login claude")).toBe(
      "portico agents login claude",
    );
    expect(commandIn("Run `make it so` first.")).toBe("make it so");
    expect(commandIn("Install goose and have it on PATH.")).toBeUndefined();
  });

  it("makes a report without empty lines", () => {
    const facts = {
      code: "INTERNAL",
      message: "no",
      agent: "",
      exitStatus: "",
      stderr: "",
      version: "1",
      sessionId: "s",
    };
    expect(reportText(facts)).toBe("Portico 1\nError: INTERNAL: no\nSession: s");
  });
});

describe("a notice", () => {
  it("has its raw message only if its words do not say all of it", () => {
    expect(isToldInFull('{"sessionUpdate":"notice","title":"A tiny model answers."}')).toBe(true);
    expect(isToldInFull('{"sessionUpdate":"something_new"}')).toBe(false);
    expect(isToldInFull(undefined)).toBe(false);
  });
});

describe("a permission", () => {
  const request = create(PermissionRequestedSchema, {
    requestId: "p1",
    title: "Run `pytest`",
    options: [
      { optionId: "always", name: "Always allow", kind: PermissionOptionKind.ALLOW_ALWAYS },
      { optionId: "yes", name: "Allow", kind: PermissionOptionKind.ALLOW_ONCE },
      { optionId: "no", name: "Reject", kind: PermissionOptionKind.REJECT_ONCE },
    ],
  });
  const words = (change: Facts<PermissionResolved>): string => {
    const { outcome, by } = decisionLabel(
      request,
      create(PermissionResolvedSchema, { requestId: "p1", ...change }),
    );
    return `${outcome}, ${by}`;
  };
  const allowed = { outcome: PermissionOutcome.ALLOWED, by: DecidedBy.PERSON };

  it("leaves a trail of what was decided and by whom", () => {
    expect(words({ ...allowed, optionId: "yes" })).toBe("Allowed once, by you");
    expect(words({ ...allowed, optionId: "yes", scope: PermissionScope.SESSION })).toBe(
      "Allowed for this session, by you",
    );
    expect(words({ ...allowed, optionId: "always" })).toBe("Allowed (“Always allow”), by you");
    expect(words({ outcome: PermissionOutcome.DENIED, by: DecidedBy.POLICY, rule: "git push*" })).toBe(
      "Denied, by the rule git push*",
    );
    expect(words({ outcome: PermissionOutcome.DENIED, by: DecidedBy.NOBODY })).toBe(
      "Denied, no one was there to answer",
    );
    expect(words({ outcome: PermissionOutcome.CANCELED, by: DecidedBy.NOBODY })).toBe(
      "Not answered, the turn was stopped",
    );
  });

  it("is granted once by the option that grants no more", () => {
    expect(onceOption(request)?.optionId).toBe("yes");
    expect(onceOption({ ...request, options: request.options.slice(0, 1) })).toBeUndefined();
  });

  it("is called by its title without backticks and the folder", () => {
    expect(shortTitle("Edit `/work/here/a.py`", "/work/here/")).toBe("Edit a.py");
    expect(shortTitle("  ")).toBe("Use a tool");
  });

  it("has the agent's names of its answers where they say more than yes and no", () => {
    const option = (name: string, kind: PermissionOptionKind) => ({ optionId: name, name, kind });
    const labels = (allow: string, reject: string, ...more: string[]): string[] => {
      const asked = create(PermissionRequestedSchema, {
        options: [
          option(allow, PermissionOptionKind.ALLOW_ONCE),
          option(reject, PermissionOptionKind.REJECT_ONCE),
          ...more.map((name) => option(name, PermissionOptionKind.ALLOW_ALWAYS)),
        ],
      });
      return asked.options
        .slice(0, 2)
        .map((one, index) => answerLabel(asked, one, index === 0 ? "Allow" : "Reject"));
    };
    expect(labels("Start the server", "Keep it off")).toEqual(["Start the server", "Keep it off"]);
    expect(labels("Yes", "No")).toEqual(["Allow", "Reject"]);
    expect(labels("Allow once", " Reject ")).toEqual(["Allow", "Reject"]);
    expect(labels("Start the server", "Keep it off", "Always")).toEqual(["Allow", "Reject"]);
  });

  it("to change a file in the workspace can be accepted without a question, and no other", () => {
    const edit = {
      requestId: "p1",
      toolKind: ToolKind.EDIT,
      rule: "edit:a.py",
      widerRule: "edit:*",
      options: [{ optionId: "yes", name: "Yes", kind: PermissionOptionKind.ALLOW_ONCE }],
    };
    const accepted = (change: object): string | undefined =>
      acceptedEdit(create(PermissionRequestedSchema, { ...edit, ...change }))?.optionId;
    expect(accepted({})).toBe("yes");
    expect(accepted({ toolKind: ToolKind.EXECUTE })).toBeUndefined();
    expect(accepted({ widerRule: "" })).toBeUndefined();
    expect(accepted({ risks: [PermissionRisk.OUTSIDE_WORKSPACE] })).toBeUndefined();
    expect(accepted({ options: [] })).toBeUndefined();
  });

  it("shows the command it would run", () => {
    expect(commandOf('{"command":"ls -l"}')).toBe("ls -l");
    expect(commandOf('{"command":["git","status"]}')).toBe("git status");
    expect(commandOf('{"cmd":"go","args":["test","./..."]}')).toBe("go test ./...");
    expect(commandOf('{"path":"a"}')).toBeUndefined();
    expect(commandOf("not json")).toBeUndefined();
  });
});

describe("a form", () => {
  const field = (name: string, change: Facts<QuestionField>): QuestionField =>
    create(QuestionFieldSchema, { name, type: "string", ...change });

  it("begins with the defaults", () => {
    const fields = [
      field("name", { defaultJson: '"Ada"' }),
      field("age", { type: "integer", defaultJson: "36" }),
      field("sure", { type: "boolean", defaultJson: "true" }),
      field("tags", { type: "choices", defaultJson: '["a"]' }),
      field("none", {}),
    ];
    expect(firstValues(fields)).toEqual({ name: "Ada", age: "36", sure: true, tags: ["a"], none: "" });
  });

  it.each([
    ["needed", { required: true }, "", "Required."],
    ["not chosen", { type: "choice", required: true }, "", "Choose one."],
    ["no number", { type: "number" }, "many", "Enter a number."],
    ["not whole", { type: "integer" }, "1.5", "Enter a whole number."],
    ["too small", { type: "number", minimum: 3 }, "2", "Must be at least 3."],
    ["too many letters", { maximum: 2 }, "abc", "Enter at most 2 characters."],
    ["too few", { type: "choices", minimum: 2 }, ["a"], "Choose at least 2."],
    ["no address", { format: "email" }, "ada", "Enter an email address."],
    ["off the pattern", { pattern: "^v\\d+$" }, "x1", "Must match ^v\\d+$"],
  ])("says what is wrong: %s", (_, change, value, problem) => {
    expect(problemsOf([field("one", change)], { one: value })).toEqual({ one: problem });
  });

  it("lets pass what is right, what is left out, and what only the server can judge", () => {
    expect(problemsOf([field("one", { type: "integer", maximum: 5 })], { one: "5" })).toEqual({});
    expect(problemsOf([field("one", { type: "number" })], { one: "" })).toEqual({});
    expect(problemsOf([field("one", { pattern: "(" })], { one: "x" })).toEqual({});
  });

  it("sends numbers as numbers and leaves out what is empty", () => {
    const fields = [
      field("count", { type: "integer" }),
      field("name", {}),
      field("sure", { type: "boolean" }),
    ];
    expect(contentOf(fields, { count: "3", name: "", sure: false })).toEqual({ count: 3, sure: false });
  });

  it("sends a moment with its zone, as it was meant", () => {
    const when = field("when", { format: "date-time", defaultJson: '"2026-05-20T10:00:00Z"' });
    expect(contentOf([when], firstValues([when]))).toEqual({ when: "2026-05-20T10:00:00.000Z" });
  });
});

it("takes a key only with the name of a variable", () => {
  expect(keyProblem("OPENAI_API_KEY", "k")).toBe("");
  expect(keyProblem("OPENAI API KEY", "k")).not.toBe("");
  expect(keyProblem("OPENAI_API_KEY", " ")).toBe("Enter the key.");
});

it("offers ways out only for what happened last", () => {
  const item = (type: string, firstSeq: number): Item => ({ type, firstSeq }) as Item;
  const error = item("error", 5);
  expect(isLatest(error, [item("prompt", 1), error, item("end", 6)])).toBe(true);
  expect(isLatest(error, [item("prompt", 1), error, item("prompt", 7)])).toBe(false);
  expect(isLatest(error, [error, item("error", 8)])).toBe(false);
});

it("says how a turn ended", () => {
  const ended = (state: TurnState, stopReason: string, durationMs: bigint): string =>
    endText(create(TurnEndedSchema, { state, stopReason, durationMs }));
  expect(ended(TurnState.CANCELED, "cancelled", 2_500n)).toBe("Stopped · 2.5 s");
  expect(ended(TurnState.COMPLETED, "end_turn", 75_000n)).toBe("Took 1 min 15 s");
  expect(ended(TurnState.COMPLETED, "refusal", 1_000n)).toContain("refused");
});

describe("a field", () => {
  const field = (change: object): QuestionField => create(QuestionFieldSchema, { name: "x", ...change });
  const choices = (count: number) => Array.from({ length: count }, (_, value) => ({ value: `${value}` }));

  it("has radio buttons for a few choices of which one is needed", () => {
    expect(isRadioGroup(field({ type: "choice", required: true, choices: choices(3) }))).toBe(true);
    expect(isRadioGroup(field({ type: "choice", required: false, choices: choices(3) }))).toBe(false);
    expect(isRadioGroup(field({ type: "choice", required: true, choices: choices(9) }))).toBe(false);
  });

  it("has several lines for a long text", () => {
    expect(isLongText(field({ type: "string", maximum: 2_000 }))).toBe(true);
    expect(isLongText(field({ type: "string", defaultJson: JSON.stringify("a\nb") }))).toBe(true);
    expect(isLongText(field({ type: "string", maximum: 80 }))).toBe(false);
    expect(isLongText(field({ type: "string", maximum: 2_000, secret: true }))).toBe(false);
    expect(isLongText(field({ type: "string", maximum: 2_000, format: "uri" }))).toBe(false);
  });
});

describe("a folder", () => {
  const session = (facts: Facts<SessionSummary>): SessionSummary =>
    create(SessionSummarySchema, { sessionId: "s2", workspace: "/w", state: TurnState.STREAMING, ...facts });
  const writer = (facts: Facts<SessionSummary>): string | undefined =>
    writerIn("/w", [session({ sessionId: "s1" }), session(facts)], "s1")?.sessionId;

  it("is taken by another session that is at work in it", () => {
    expect(writer({})).toBe("s2");
    expect(writer({ mode: ReviewMode.BRANCH })).toBe("s2");
  });

  it("is free while the others rest, only read, are elsewhere or work beside it", () => {
    expect(writer({ state: TurnState.COMPLETED })).toBeUndefined();
    expect(writer({ readsOnly: true })).toBeUndefined();
    expect(writer({ workspace: "/other" })).toBeUndefined();
    expect(writer({ mode: ReviewMode.WORKTREE })).toBeUndefined();
    expect(writer({ mode: ReviewMode.PROPOSAL })).toBeUndefined();
  });
});
