import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { KeptPromptSchema, PromptOrigin, type KeptPrompt } from "../../web/src/generated/portico/v1/agent_pb";
import {
  costClass,
  describePrompt,
  dollars,
  groupPrompts,
  parseDollars,
} from "../../web/src/model/prompt-list";

const USUAL = { model: "openai:gpt-5", maxCost: 1 };

function kept(fields: MessageInitShape<typeof KeptPromptSchema>): KeptPrompt {
  return create(KeptPromptSchema, fields);
}

test("prompts are grouped by folder: the workspace first, the built-in ones last", () => {
  const groups = groupPrompts(
    [
      kept({ name: "explain", origin: PromptOrigin.BUILT_IN, path: "/lib/portico/prompts/explain.md" }),
      kept({ name: "mine", origin: PromptOrigin.USER, path: "/home/ada/prompts/mine.md" }),
      kept({ name: "deploy", origin: PromptOrigin.WORKSPACE, path: "/work/shop/.portico/prompts/deploy.md" }),
      kept({ name: "team/a", origin: PromptOrigin.WORKSPACE, path: "/work/shop/.portico/prompts/team/a.md" }),
      kept({ name: "fix", origin: PromptOrigin.WORKSPACE, path: "/work/shop/.portico/prompts/fix.md" }),
    ],
    "/work/shop",
  );
  expect(groups.map(({ title, prompts }) => [title, prompts.map(({ name }) => name)])).toEqual([
    [".portico/prompts", ["deploy", "fix"]],
    [".portico/prompts/team", ["team/a"]],
    ["/home/ada/prompts", ["mine"]],
    ["Built-in", ["explain"]],
  ]);
});

test.each([
  [{ budget: "$0.02" }, "low cost, up to $0.02"],
  [{ budget: "$0.5,20000" }, "medium cost, up to $0.50"],
  [{ budget: "20000" }, "up to $1.00"],
  // A prompt can only lower what the settings allow.
  [{ budget: "$20" }, "high cost, up to $1.00"],
  [{ model: "offline:smollm2", budget: "$20" }, "free"],
])("the cost class of %o is %s", (fields, words) => {
  expect(costClass({ model: "", ...fields }, USUAL)).toBe(words);
});

test("tags and cost class are shown together, as far as they are known", () => {
  const prompt = kept({ name: "sum", tags: ["text", "short"] });
  expect(describePrompt(prompt, USUAL)).toBe("#text #short  ·  up to $1.00");
  expect(describePrompt(prompt, { model: "", maxCost: undefined })).toBe("#text #short");
});

test("amounts are read and written as people do", () => {
  expect(["0.50", "$2", ".5", " 1. "].map(parseDollars)).toEqual([0.5, 2, 0.5, 1]);
  expect(["", "much", "1,5", "-1", "1e9"].map(parseDollars)).toEqual(Array(5).fill(undefined));
  expect([0, 0.00321, 0.5, 12].map(dollars)).toEqual(["$0.00", "$0.0032", "$0.50", "$12.00"]);
});
