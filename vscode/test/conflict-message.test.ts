import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { ProposalUpdatedSchema } from "../../web/src/generated/portico/v1/events_pb";
import { conflictMessage } from "../src/views/conflict-message";

const proposal = (...paths: string[]) =>
  create(ProposalUpdatedSchema, {
    files: [{ path: "fine.txt" }, ...paths.map((path) => ({ path, conflict: true }))],
  });

test.each([
  [proposal("a.txt"), "a.txt changed or went away"],
  [proposal("a", "b", "c", "d", "e"), "a, b, c and 2 more changed"],
  [undefined, "Files changed"],
])("what stands in the way of an apply is named", (told, words) => {
  expect(conflictMessage(told)).toContain(`Nothing was written. ${words}`);
});
