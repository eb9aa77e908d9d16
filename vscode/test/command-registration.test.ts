import { expect, test, vi } from "vitest";
import { registerCommand } from "../src/commands/registration";
import type { Services } from "../src/services";

const editor = vi.hoisted(() => ({
  commands: new Map<string, (...given: unknown[]) => Promise<void>>(),
  shown: [] as string[],
}));

vi.mock("vscode", () => ({
  commands: {
    registerCommand: (name: string, act: (...given: unknown[]) => Promise<void>) =>
      editor.commands.set(name, act),
  },
  window: {
    showInformationMessage: (words: string) => {
      editor.shown.push(words);
      return Promise.resolve(undefined);
    },
  },
}));

test("a deed on an entry that VS Code no longer knows is not done to something else", async () => {
  const given: unknown[] = [];
  registerCommand("applyProposal", {} as Services, (one) => given.push(one));
  const act = editor.commands.get("portico.applyProposal");
  await act?.(undefined, undefined);
  expect(given).toEqual([]);
  expect(editor.shown).toEqual(["Portico: The list has just changed. Try again."]);
  await act?.();
  // The title of a view gives nothing along.
  await act?.(undefined);
  await act?.("an entry", undefined);
  expect(given).toEqual([undefined, undefined, "an entry"]);
});
