import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import {
  SessionDetailSchema,
  SessionSummarySchema,
  type SessionSummary,
} from "../../web/src/generated/portico/v1/agent_pb";
import { TurnState } from "../../web/src/generated/portico/v1/events_pb";
import {
  explainPrompt,
  fenceCode,
  fixPrompt,
  selectionText,
  type CodeExcerpt,
} from "../src/commands/code-prompts";
import { statusText } from "../src/status-text";
import { chatDocument } from "../src/chat/page-document";

const place: CodeExcerpt = {
  name: "@src/a.py",
  startLine: 3,
  endLine: 4,
  language: "python",
  text: "x = 1\ny = 2\n",
};

test("a selection is explained by where it is and what it says", () => {
  expect(explainPrompt(place)).toBe("Explain lines 3–4 of @src/a.py:\n\n```python\nx = 1\ny = 2\n```");
  expect(selectionText({ ...place, endLine: 3 })).toContain("@src/a.py, line 3:");
});

test("code that has fences of its own cannot leave its fence", () => {
  expect(fenceCode({ ...place, text: "a\n````\nb" })).toMatch(/^`````python\n[^]*\n`````$/);
});

test("a fix names every problem with who reports it", () => {
  const words = fixPrompt(place, [
    { message: "x is unused", source: "ruff" },
    { message: "y is odd", source: "" },
  ]);
  expect(words).toContain(
    "Fix these problems in @src/a.py, lines 3–4:\n\n- x is unused (ruff)\n- y is odd\n",
  );
});

const address = { port: 1, token: "", version: "0.1.0" };
const session = (state: TurnState, waiting = 0): SessionSummary =>
  create(SessionSummarySchema, { sessionId: "s", agent: "porter", title: "Boats", state, waiting });

test("the status bar says how the server stands, and with whom one talks", () => {
  const detail = create(SessionDetailSchema, {
    summary: session(TurnState.AWAITING, 1),
    options: [
      {
        optionId: "m",
        category: "model",
        value: { case: "choice", value: "l" },
        choices: [{ value: "l", name: "Large" }],
      },
    ],
  });
  expect(statusText({ state: "running", address }, detail)).toMatchObject({
    text: "$(bell-dot) porter · Large",
    tone: "warning",
  });
  expect(statusText({ state: "starting" }, undefined).text).toContain("loading");
  const failed = statusText({ state: "failed", error: new Error("No room.") }, undefined);
  expect(failed).toMatchObject({ tone: "error", tooltip: "No room." });
});

test("a folder with an odd name cannot write into the document", () => {
  const document = chatDocument({
    build: "b",
    script: "s",
    sheet: "c",
    source: "v",
    nonce: "n",
    workspace: '/a"><script>&',
    session: "",
    showThinking: false,
  });
  expect(document).toContain('content="/a&quot;&gt;&lt;script&gt;&amp;"');
});
