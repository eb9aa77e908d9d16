// What a review knows without a page: patches, pairs, rows, decisions, and a proposal's place in the conversation.

import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { ConflictSide, ReviewMode, SessionDetailSchema } from "../src/generated/portico/v1/agent_pb";
import {
  CheckpointMoment,
  FileOperation,
  ProposalStatus,
  ProposedFileSchema,
  type ProposedFile,
} from "../src/generated/portico/v1/events_pb";
import { applyEvent } from "../src/model/session-detail";
import { HunkDecisions } from "../src/model/hunk-decisions";
import { parsePatch } from "../src/model/patch";
import { decidableFile, selectionOf } from "../src/model/review-selection";
import { Timeline } from "../src/model/timeline";
import { LONGEST_SHOWN, shownOf } from "../src/view/review/line-segments";
import { pairsOf } from "../src/view/review/line-pairs";
import { buildSection, type DiffRow, type SectionShape } from "../src/view/review/diff-rows";
import { Log } from "./events";
import { createTestDraftStore } from "./memory-server";
import { patchOf } from "./patches";

const OLD = Array.from({ length: 60 }, (_, line) => `line ${line + 1}\n`).join("");
const NEW = OLD.replace("line 10\n", "line ten\n").replace("line 40\n", "line forty\nand one more\n");

function fileOf(path: string, more: Partial<ProposedFile> = {}): ProposedFile {
  const { diff, hunks, added, removed } = patchOf({ path, old: OLD, new: NEW });
  const operation = FileOperation.UPDATE;
  return { ...create(ProposedFileSchema, { path, operation, diff, hunks, added, removed }), ...more };
}

describe("a patch", () => {
  test("is read with the numbers of its lines and the ids of its hunks", () => {
    const { diff, hunks } = patchOf({ path: "a", old: OLD, new: NEW });
    const patch = parsePatch(diff, fileOf("a").hunks);
    expect(patch.hunks.map((hunk) => hunk.id)).toEqual(hunks.map((hunk) => hunk.hunkId));
    const changed = patch.hunks[1]?.lines.filter((line) => line.sign !== "same");
    expect(changed).toMatchObject([
      { sign: "removed", old: 40, new: undefined, text: "line 40" },
      { sign: "added", old: undefined, new: 40, text: "line forty" },
      { sign: "added", old: undefined, new: 41, text: "and one more" },
    ]);
  });

  test("of a new or a deleted file counts from one", () => {
    const came = parsePatch(patchOf({ path: "a", new: "one\ntwo\n" }).diff, []);
    const went = parsePatch(patchOf({ path: "a", old: "one\ntwo\n" }).diff, []);
    expect(came.hunks[0]?.lines.map((line) => line.new)).toEqual([1, 2]);
    expect(went.hunks[0]?.lines.map((line) => line.old)).toEqual([1, 2]);
  });

  test("with hunks that the server does not speak of can be chosen as a whole only", () => {
    const { diff } = patchOf({ path: "a", old: OLD, new: NEW });
    expect(parsePatch(diff, fileOf("a").hunks.slice(1)).hunks.map((hunk) => hunk.id)).toEqual(["", ""]);
  });

  test("says that a mode changed and that a line has no end, and keeps lines that look like a header", () => {
    const diff =
      "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n--- gone\n+++ came\n\\ No newline at end of file\n";
    const patch = parsePatch(diff, []);
    expect(patch.mode).toEqual({ old: "100644", new: "100755" });
    expect(patch.hunks[0]?.lines).toMatchObject([
      { sign: "removed", text: "-- gone", unended: false },
      { sign: "added", text: "++ came", unended: true },
    ]);
  });
});

describe("changed lines", () => {
  const pairs = (old: string, fresh: string) =>
    pairsOf(parsePatch(patchOf({ path: "a", old, new: fresh }).diff, []).hunks[0]?.lines ?? []).map(
      (pair) => [pair.old?.text, pair.new?.text] as const,
    );

  test("stand beside the ones they became, whatever came between them", () => {
    expect(
      pairs("total = count(boats)\nprint(total)\n", "log(boats)\ntotal = count(boats, sails)\n"),
    ).toEqual([
      [undefined, "log(boats)"],
      ["total = count(boats)", "total = count(boats, sails)"],
      ["print(total)", undefined],
    ]);
  });

  test("that have nothing in common stand beside each other in their order", () => {
    expect(pairs("a b c\n", "x y\nz w\n")).toEqual([
      ["a b c", "x y"],
      [undefined, "z w"],
    ]);
  });
});

describe("a line", () => {
  const plain = (text: string) => [{ text, color: "", marked: false }];

  test("shows how it ends only where that is what changed", () => {
    expect(shownOf(plain("one\r"), false)).toEqual(plain("one"));
    expect(shownOf(plain("one\r"), true)).toEqual(plain("one\r"));
  });

  test("without an end in sight is shown as far as anybody reads", () => {
    const shown = shownOf([...plain("x".repeat(2_000)), ...plain("y".repeat(1_000_000))], false);
    expect(shown.map(({ text }) => text.length)).toEqual([2_000, LONGEST_SHOWN - 2_000]);
  });
});

describe("the rows of a file", () => {
  const shape = (more: Partial<SectionShape> = {}): SectionShape => {
    const file = fileOf("a.py");
    return {
      file,
      patch: parsePatch(file.diff, file.hunks),
      contents: undefined,
      isOpen: true,
      revealed: [],
      canReveal: true,
      split: false,
      columns: 80,
      ...more,
    };
  };
  const gaps = (rows: readonly DiffRow[]) =>
    rows.flatMap((row) => (row.type === "gap" ? [row.gap.lines] : []));

  test("say how many lines are left out, and know of no end that was not told", () => {
    expect(gaps(buildSection(shape()).rows)).toEqual([6, 23, undefined]);
    expect(gaps(buildSection(shape({ canReveal: false })).rows)).toEqual([6, 23]);
  });

  test("show what was asked for, with the numbers of both sides", () => {
    const contents = {
      newText: NEW,
      conflicts: [],
      hunks: [],
      diff: "",
    } as unknown as SectionShape["contents"];
    const revealed = [undefined, { above: 5, below: 2 }, { above: Infinity, below: 0 }];
    const { rows } = buildSection(shape({ contents, revealed }));
    expect(gaps(rows)).toEqual([6, 16]);
    const around = rows.flatMap((row) => (row.type === "around" ? [[row.old, row.new]] : []));
    expect(around.slice(0, 7)).toEqual([14, 15, 16, 17, 18, 35, 36].map((line) => [line, line]));
    expect(around.at(-1)).toEqual([60, 61]);
  });

  test("of a closed file are none, and of a file side by side are pairs", () => {
    expect(buildSection(shape({ isOpen: false })).rows).toEqual([]);
    const { rows } = buildSection(shape({ split: true }));
    const changed = rows.flatMap((row) =>
      row.type === "pair" && row.pair.old !== row.pair.new ? [row.pair] : [],
    );
    expect(changed.map((pair) => [pair.old?.text, pair.new?.text])).toEqual([
      ["line 10", "line ten"],
      ["line 40", "line forty"],
      [undefined, "and one more"],
    ]);
  });
});

describe("decisions", () => {
  const choose = (files: readonly ProposedFile[], decisions: HunkDecisions) =>
    selectionOf(files, decisions, (file) => file.hunks);

  test("leave everything chosen until something is rejected", () => {
    const files = [fileOf("a"), fileOf("b")];
    const choices = new HunkDecisions(createTestDraftStore(), "k");
    expect(choose(files, choices)).toMatchObject({
      everything: true,
      chosen: [],
      counts: { changes: 4, chosen: 4 },
    });
    const [first = "", second = ""] = decidableFile(fileOf("a")).hunkIds;
    choices.decide({ path: "a", hunkIds: [first] }, false);
    const { chosen, rejected, counts } = choose(files, choices);
    expect(chosen).toEqual([
      { path: "a", hunkIds: [second] },
      { path: "b", hunkIds: [] },
    ]);
    expect(rejected).toEqual([{ path: "a", hunkIds: [first] }]);
    expect(counts).toMatchObject({ chosen: 3, rejected: 1, chosenFiles: 2 });
  });

  test("never take what is protected, nor a conflict that nobody has decided", () => {
    const files = [fileOf("a"), fileOf("secret", { denied: true }), fileOf("both", { conflict: true })];
    const choices = new HunkDecisions(createTestDraftStore(), "k");
    expect(choose(files, choices).chosen).toEqual([{ path: "a", hunkIds: [] }]);
    expect(choose(files, choices).counts).toMatchObject({ undecidedConflicts: 1, denied: 1 });
    choices.resolve("both", "person");
    expect(choose(files, choices).chosen).toEqual([
      { path: "a", hunkIds: [] },
      { path: "both", hunkIds: [], resolve: ConflictSide.PERSON },
    ]);
  });

  test("are taken back one by one, and survive a reload", () => {
    const draftStore = createTestDraftStore();
    const choices = new HunkDecisions(draftStore, "k");
    choices.decide({ path: "a", hunkIds: ["1"] }, true);
    choices.decide({ path: "a", hunkIds: ["2"] }, false);
    choices.comment.value = "Shorter, please";
    choices.undo();
    const again = new HunkDecisions(draftStore, "k");
    expect([again.of("a", "1"), again.of("a", "2"), again.comment.value]).toEqual([
      true,
      undefined,
      "Shorter, please",
    ]);
    expect(choices.undo()).toBe(true);
    expect(choices.undo()).toBe(false);
  });

  test("outlive a new revision where what they are about is still there", () => {
    const choices = new HunkDecisions(createTestDraftStore(), "k");
    choices.decide({ path: "a", hunkIds: ["1", "2"] }, false);
    choices.resolve("b", "agent");
    expect(choices.keepOnly([{ path: "a", hunkIds: ["2", "3"] }])).toBe(2);
    expect([choices.of("a", "1"), choices.of("a", "2"), choices.sideOf("b")]).toEqual([
      undefined,
      false,
      undefined,
    ]);
  });

  test("that were written by another version are not read", () => {
    const draftStore = createTestDraftStore();
    draftStore.set("k", '{"hunks":[["a\\n1","maybe"],3],"sides":"no","comment":7}');
    const choices = new HunkDecisions(draftStore, "k");
    expect([choices.of("a", "1"), choices.comment.value]).toEqual([undefined, ""]);
  });
});

describe("a proposal in the conversation", () => {
  const items = (log: Log) => {
    const timeline = new Timeline();
    timeline.append(log.events);
    return timeline.items;
  };

  test("stands where the last turn that worked on it ended, and stays there when it is applied", () => {
    const log = new Log().start().prompt("One");
    log.add("proposalUpdated", { proposalId: "p", revision: 1, files: [{ path: "a" }] }).end();
    log.prompt("Two").text("More.");
    log.add("proposalUpdated", { proposalId: "p", revision: 2, files: [{ path: "a" }, { path: "b" }] }).end();
    log.add("proposalUpdated", {
      proposalId: "p",
      revision: 3,
      status: ProposalStatus.APPLIED,
      canUndo: true,
    });
    log.prompt("Three");
    const shown = items(log);
    expect(shown.map((item) => item.type)).toEqual(["prompt", "prompt", "answer", "proposal", "prompt"]);
    expect(shown[3]).toMatchObject({
      proposal: { revision: 3, canUndo: true },
      listed: [{ path: "a" }, { path: "b" }],
    });
  });

  test("leads back from the prompt before which the folder was kept", () => {
    const log = new Log().start().prompt("One");
    log.add("checkpointCreated", { checkpointId: "c1", moment: CheckpointMoment.BEFORE_TURN });
    log.add("checkpointCreated", { checkpointId: "c2", moment: CheckpointMoment.AFTER_TURN });
    expect(items(log)[0]).toMatchObject({ type: "prompt", checkpoint: { checkpointId: "c1" } });
  });

  test("is in the detail as long as it is open, and so is the mode of the session", () => {
    const log = new Log();
    log.add("proposalUpdated", { proposalId: "p", revision: 1, status: ProposalStatus.OPEN });
    log.add("sessionStarted", { continued: true, mode: "worktree" });
    log.add("proposalUpdated", { proposalId: "p", revision: 2, status: ProposalStatus.DISCARDED });
    const [opened, changed, closed] = log.events;
    let detail = create(SessionDetailSchema, { summary: { sessionId: "s1" } });
    if (opened === undefined || changed === undefined || closed === undefined)
      throw new Error("three events");
    detail = applyEvent(applyEvent(detail, opened), changed);
    expect([detail.proposals.length, detail.summary?.mode]).toEqual([1, ReviewMode.WORKTREE]);
    expect(applyEvent(detail, closed).proposals).toEqual([]);
  });
});
