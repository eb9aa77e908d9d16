// Files, numbers and lists of the composer, in the words that people read.

import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { AgentSchema } from "../src/generated/portico/v1/agent_pb";
import { ConfigOptionSchema, UsageUpdatedSchema } from "../src/generated/portico/v1/events_pb";
import {
  displayName,
  isAboutFiles,
  MOST_BYTES,
  namePasted,
  formatSize,
  refusalReason,
} from "../src/view/composer/attachments";
import { agentChoices, sortOptions } from "../src/view/composer/picker-choices";
import { contextAttachments, USUALLY_SHARED } from "../src/view/composer/context-attachments";
import { editorPaths, isFromEditor } from "../src/view/composer/drop-zone";
import { fileIcon } from "../src/view/composer/file-icons";
import { indexAfterKey, indexByLetters } from "../src/view/composer/list-navigation";
import { countFitting, choiceWidth } from "../src/view/composer/composer-size";
import { levelOf, formatMoney, shareUsed, usageLines } from "../src/view/composer/context-meter";

describe("what is dragged from the editor", () => {
  function dragged(list: string) {
    const type = "application/vnd.code.uri-list";
    return { types: [type], getData: (asked: string) => (asked === type ? list : "") };
  }

  test("files are known by their whole paths, each once, wherever the editor has them", () => {
    const list = [
      "# two of them",
      "file:///home/me/a%20b.py",
      "vscode-remote://localhost%2B8000/home/me/c.py",
      "file:///c%3A/boats/d.py",
      "file:///home/me/a%20b.py",
      "",
    ].join("\r\n");
    expect(editorPaths(dragged(list))).toEqual(["/home/me/a b.py", "/home/me/c.py", "c:/boats/d.py"]);
  });

  test("what is no file is left out, and a link of another page is not the editor's", () => {
    const list = "untitled:Untitled-1\nhttps://example.com/a.py\nno address\nfile:///bad%";
    expect(editorPaths(dragged(list))).toEqual([]);
    expect(isFromEditor(dragged(list))).toBe(true);
    expect(isFromEditor({ types: ["text/uri-list", "text/plain"] })).toBe(false);
  });
});

describe("attachments", () => {
  test("a name is shown without anything that could disguise it", () => {
    expect(displayName("../../etc/passwd")).toBe("passwd");
    expect(displayName("C:\\Users\\me\\a.txt")).toBe("a.txt");
    expect(displayName("photo\u202egnp.exe")).toBe("photognp.exe");
    expect(displayName("two\nlines\u0000.txt")).toBe("twolines.txt");
    expect(displayName("..")).toBe("file");
    const long = displayName(`${"a".repeat(500)}.tar.gz`);
    expect(long).toMatch(/^a+…a+\.tar\.gz$/);
    expect(long).toHaveLength(120);
  });

  test("a pasted picture gets a name of its own", () => {
    expect(namePasted({ name: "image.png", type: "image/png" }, 3)).toBe("pasted-3.png");
    expect(namePasted({ name: "", type: "image/svg+xml" }, 1)).toBe("pasted-1.svg");
    expect(namePasted({ name: "chart.png", type: "image/png" }, 1)).toBe("chart.png");
  });

  test("too much is refused in words that name the file and the limit", () => {
    expect(refusalReason({ name: "a.bin", size: MOST_BYTES }, [])).toBeUndefined();
    expect(refusalReason({ name: "a.bin", size: MOST_BYTES + 1 }, [])).toMatch(
      /^a\.bin is 11 MB; the limit is 10 MB/,
    );
    const full = [{ data: new Uint8Array(MOST_BYTES) }, { data: new Uint8Array(MOST_BYTES) }];
    expect(refusalReason({ name: "one.txt", size: 1 }, full)).toMatch(/the limit is 20 MB per prompt/);
    const many = Array.from({ length: 20 }, () => ({ data: new Uint8Array(1) }));
    expect(refusalReason({ name: "one.txt", size: 1 }, many)).toMatch(/at most 20 files/);
  });

  test("sizes are never rounded down to less than they are", () => {
    expect([0, 1023, 1024, 1025, MOST_BYTES].map(formatSize)).toEqual([
      "0 B",
      "1023 B",
      "1 KB",
      "1.1 KB",
      "10 MB",
    ]);
  });

  test("words that bring a picture of themselves are pasted as words", () => {
    expect(isAboutFiles(["text/plain", "text/html", "Files"], 1)).toBe(false);
    expect(isAboutFiles(["text/html", "Files"], 1)).toBe(true);
    expect(isAboutFiles(["text/plain", "Files"], 1)).toBe(true);
    expect(isAboutFiles(["text/plain"], 0)).toBe(false);
  });

  test("an ending that is also a word of the language has no picture of its own", () => {
    expect(["a.constructor", "Makefile", "a.PY"].map(fileIcon)).toEqual(["file", "file", "python"]);
  });
});

describe("what the editor shows", () => {
  const selection = { text: "x = 1", startLine: 3, endLine: 9 };
  const told = (...args: Parameters<typeof contextAttachments>) =>
    contextAttachments(...args).map(({ name, data }) => [name, new TextDecoder().decode(data)]);

  test("a selection goes along with its place", () => {
    expect(told({ activeFile: "/w/src/a.py", selection }, USUALLY_SHARED, "/w")).toEqual([
      ["Selected in the editor: src/a.py, lines 3–9", "x = 1"],
    ]);
  });

  test("of an open file only its name goes along, and nothing if it is switched off", () => {
    const context = { activeFile: "/w/src/a.py", selection };
    const unselected = { ...USUALLY_SHARED, selection: false };
    expect(told({ ...context, language: "python" }, unselected, "/w")).toEqual([
      ["Open in the editor", "src/a.py (python)"],
    ]);
    expect(told(context, { ...unselected, file: false }, "/w")).toEqual([]);
    expect(told(undefined, USUALLY_SHARED, "/w")).toEqual([]);
  });

  test("open tabs and problems go along by choice", () => {
    const context = {
      openFiles: ["/w/src/a.py", "/w/b.py"],
      problems: [{ path: "/w/b.py", line: 3, severity: "error", message: "undefined name" }],
    };
    expect(told(context, USUALLY_SHARED, "/w")).toEqual([]);
    expect(told(context, { ...USUALLY_SHARED, tabs: true, problems: true }, "/w")).toEqual([
      ["Open tabs in the editor", "src/a.py\nb.py"],
      ["Problems in the editor", "b.py:3: error: undefined name"],
    ]);
  });

  test.each(["/other", "/w/s", ""])(
    "a file that is not in the folder %j is named by its whole path",
    (folder) => {
      expect(told({ activeFile: "/w/src/a.py" }, USUALLY_SHARED, folder)).toEqual([
        ["Open in the editor", "/w/src/a.py"],
      ]);
    },
  );
});

describe("usage", () => {
  test("is told in full", () => {
    const usage = create(UsageUpdatedSchema, {
      used: 84_000n,
      size: 200_000n,
      cost: 0.0421,
      currency: "USD",
      inputTokens: 1_000n,
      outputTokens: 20n,
    });
    expect(shareUsed(usage)).toBeCloseTo(0.42);
    expect(usageLines(usage, "en").map(({ name, value }) => `${name} ${value}`)).toEqual([
      "Context 84,000 of 200,000 tokens (42 %)",
      "Input 1,000 tokens",
      "Output 20 tokens",
      "Cost $0.0421",
    ]);
  });

  test("says nothing where the agent does", () => {
    expect(usageLines(create(UsageUpdatedSchema))).toEqual([]);
    expect(shareUsed(create(UsageUpdatedSchema, { used: 3n, size: 0n }))).toBeUndefined();
  });

  test("changes its colour at 80 and at 95 percent", () => {
    expect([0.79, 0.8, 0.94, 0.95].map(levelOf)).toEqual(["calm", "high", "high", "full"]);
  });

  test("an unheard-of currency is written as it is", () => {
    expect(formatMoney(2, "credits", "en")).toBe("2.00 credits");
    expect(formatMoney(2, "", "en")).toBe("2.00");
  });
});

describe("lists", () => {
  test("the arrows go round at the ends", () => {
    expect(indexAfterKey("ArrowDown", 3, 0)).toBe(1);
    expect(indexAfterKey("ArrowDown", 3, 2)).toBe(0);
    expect(indexAfterKey("ArrowUp", 3, 0)).toBe(2);
    expect(indexAfterKey("End", 3, 0)).toBe(2);
    expect(indexAfterKey("Home", 3, 2)).toBe(0);
    expect(indexAfterKey("x", 3, 0)).toBeUndefined();
  });

  test("letters lead to the next name that begins with them", () => {
    const names = ["small", "big", "Smart"];
    expect(indexByLetters(names, "s", 0)).toBe(2);
    expect(indexByLetters(names, "ss", 2)).toBe(0);
    expect(indexByLetters(names, "sma", 2)).toBe(2);
    expect(indexByLetters(names, "q", 0)).toBeUndefined();
  });

  test("what people change most comes first", () => {
    const options = ["own", "mode", "model"].map((category) =>
      create(ConfigOptionSchema, { optionId: category, category }),
    );
    expect(sortOptions(options).map(({ optionId }) => optionId)).toEqual(["model", "mode", "own"]);
  });

  test("agents that are not installed come last and say how to get them", () => {
    const choices = agentChoices([
      create(AgentSchema, { name: "codex", title: "Codex", installHint: "npm install codex" }),
      create(AgentSchema, { name: "porter", installed: true }),
      create(AgentSchema, { name: "claude", installHint: "Install it: portico agents install claude" }),
    ]);
    expect(choices).toEqual([
      { value: "porter", name: "porter", description: "" },
      { value: "codex", name: "Codex", description: "Not installed. npm install codex" },
      {
        value: "claude",
        name: "claude",
        description: "Not installed. Install it: portico agents install claude",
      },
    ]);
  });

  test("a wider panel has room for more, and as many stand in the row as can be read", () => {
    const widths = ["Scripted", "Small", "Ask first", "High"].map((words) => choiceWidth(words));
    expect([284, 464, 520, 744].map((width) => countFitting(width, widths))).toEqual([1, 2, 4, 4]);
    const withSwitch = [...widths.slice(0, 3), choiceWidth("Search the web", true)];
    expect([284, 464, 520, 744].map((width) => countFitting(width, withSwitch))).toEqual([1, 2, 3, 4]);
    expect(countFitting(100, widths)).toBe(0);
  });
});
