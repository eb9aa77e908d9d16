import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { EventSchema } from "../../web/src/generated/portico/v1/events_pb";
import { CommandOutput } from "../src/bridge/command-output";

type Payload = NonNullable<MessageInitShape<typeof EventSchema>["payload"]>;

const toolId = "sounding";

function shown(...payloads: readonly Payload[]): { readonly output: CommandOutput; readonly text: string } {
  let text = "";
  const output = new CommandOutput(toolId, (printed) => (text += printed));
  for (const payload of payloads) output.take(create(EventSchema, { payload }));
  return { output, text: text.replaceAll(/\x1b\[\d*m/g, "") };
}

function started(text = ""): Payload {
  const content = text === "" ? [] : [{ part: { case: "text" as const, value: { text } } }];
  return {
    case: "toolStarted",
    value: { toolId, title: "Sound", inputJson: '{"command": "sound --deep"}', content },
  };
}

function printed(value: {
  readonly text?: string;
  readonly ended?: boolean;
  readonly signal?: string;
}): Payload {
  return { case: "toolUpdated", value: { toolId, terminal: { terminalId: "t1", ...value } } };
}

test("what an agent repeats with every update stands there once, and what has grown is not missed", () => {
  const parts = [{ part: { case: "text" as const, value: { text: "one\ntwo\n" } } }];
  const { text } = shown(
    started("one\n"),
    { case: "toolUpdated", value: { toolId, content: { parts } } },
    { case: "toolUpdated", value: { toolId, grown: { text: "three\n" } } },
    { case: "toolCompleted", value: { toolId, success: true } },
  );
  expect(text).toBe("$ sound --deep\none\ntwo\nthree\n\nDone\n");
});

test("a fence around the output is not shown, and its end does not make everything come again", () => {
  const { text } = shown(started("```console\none\n```"), {
    case: "toolUpdated",
    value: { toolId, grown: { dropped: 3, text: "two\n```\n" } },
  });
  expect(text).toBe("$ sound --deep\none\ntwo");
});

test("a command that Portico runs can be ended by itself, as long as it runs", () => {
  expect(shown(started()).output.terminalId).toBeUndefined();
  expect(shown(started(), printed({ text: "anchor 7" })).output.terminalId).toBe("t1");
  const named = [{ part: { case: "terminal" as const, value: { terminalId: "t1" } } }];
  const silent: Payload = { case: "toolUpdated", value: { toolId, content: { parts: named } } };
  expect(shown(started(), silent).output.terminalId).toBe("t1");
  const { output, text } = shown(started(), silent, printed({ ended: true, signal: "SIGTERM" }), silent);
  expect(output.terminalId).toBeUndefined();
  expect(output.isOver).toBe(false);
  expect(text).toContain("Ended by SIGTERM");
});

test("with the turn or the call everything is over, whatever other calls do", () => {
  expect(shown(started(), { case: "toolCompleted", value: { toolId: "other" } }).output.isOver).toBe(false);
  const { output } = shown(started(), printed({ text: "anchor" }), { case: "turnEnded", value: {} });
  expect(output.isOver).toBe(true);
  expect(output.terminalId).toBeUndefined();
});
