import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { ProposalUpdatedSchema } from "../../web/src/generated/portico/v1/events_pb";
import { conflictMessage } from "../src/views/conflict-message";

const proposal = (...paths: string[]) =>
  create(ProposalUpdatedSchema, {
    files: [{ path: "fine.txt" }, ...paths.map((path) => ({ path, conflict: true }))],
  });

test.each([
  [proposal("a.txt"), "conflicts in a.txt."],
  [proposal("a", "b", "c", "d", "e"), "conflicts in a, b, c and 2 more."],
  [undefined, "files have changed."],
])("what stands in the way of an apply is named", (told, words) => {
  expect(conflictMessage(told)).toContain(`Nothing was applied: ${words}`);
});
