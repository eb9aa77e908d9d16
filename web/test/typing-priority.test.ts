// What waits for a picture gives way to typing, and is not forgotten.

import { beforeEach, describe, expect, test } from "vitest";
import { TypingPriority } from "../src/gateway/typing-priority";
import { TestEnvironment } from "./test-environment";

const FRAME = 16;
let environment: TestEnvironment;
let keysFirst: TypingPriority;
let turns: number[];
/** When the page was told to stand still and to move again. */
let stillness: [still: boolean, at: number][];

/** Something that always has more to show, like an answer that streams. */
function stream(): void {
  keysFirst.frame(() => {
    turns.push(environment.now());
    stream();
  });
}

async function type(keys: number, interval: number): Promise<void> {
  for (let key = 0; key < keys; key += 1) {
    keysFirst.typed();
    await environment.pass(interval);
  }
}

beforeEach(() => {
  environment = new TestEnvironment();
  turns = [];
  stillness = [];
  const clock = {
    now: () => environment.now(),
    after: (milliseconds: number, act: () => void) => environment.after(milliseconds, act),
    frame: (act: () => void) => environment.frame(act),
  };
  keysFirst = new TypingPriority(clock, (still) => stillness.push([still, environment.now()]));
});

describe("a stream", () => {
  test("is shown with every picture while nobody types", async () => {
    stream();
    await environment.pass(10 * FRAME);
    expect(turns).toHaveLength(10);
  });

  test("gives way to a key until the picture with it is drawn, and then comes at once", async () => {
    stream();
    await environment.pass(200);
    await environment.pass(5);
    turns = [];
    // Its last turn was just before the first key, so that the turns behind the first three are left out.
    await type(4, 100);
    const fourth = environment.now() - 100;
    const drawn = fourth + FRAME - (fourth % FRAME);
    expect(turns).toEqual([drawn]);
  });

  test("has its turns right behind every third key, and not between them, while keys come quickly", async () => {
    stream();
    await environment.pass(200);
    turns = [];
    const began = environment.now();
    await type(20, 100);
    expect(turns.length).toBeGreaterThanOrEqual(6);
    for (const at of turns) expect((at - began) % 100).toBeLessThanOrEqual(FRAME);
  });

  test("has its turns right behind keys also for somebody with a slower rhythm, once that is known", async () => {
    stream();
    await environment.pass(200);
    await type(30, 60);
    await type(2, 270);
    turns = [];
    const began = environment.now();
    await type(20, 270);
    expect(turns).toHaveLength(20);
    for (const at of turns) expect((at - began) % 270).toBeLessThanOrEqual(FRAME);
  });

  test("has its turns right behind the keys of somebody who only now and then is slower", async () => {
    stream();
    await environment.pass(200);
    for (let word = 0; word < 10; word += 1) {
      await type(5, 90);
      const pressed = environment.now();
      turns = [];
      await type(1, 180);
      for (const at of turns) expect(at - pressed).toBeLessThanOrEqual(FRAME);
    }
  });

  test("does not wait for long because of one pause some time ago", async () => {
    stream();
    await type(2, 290);
    await type(60, 100);
    turns = [];
    const began = environment.now();
    await type(1, 290);
    const [, second = Infinity] = turns;
    expect(second - began).toBeLessThan(270);
  });

  test("goes on between the keys of somebody who types slowly, but not with every picture", async () => {
    stream();
    await type(4, 500);
    const everyPicture = 2_000 / FRAME;
    expect(turns.length).toBeGreaterThan(4);
    expect(turns.length).toBeLessThan(everyPicture / 8);
  });

  test("waits for a key that comes while the one before it is drawn", async () => {
    keysFirst.typed();
    environment.frame(() => keysFirst.typed());
    stream();
    const pressed = environment.now();
    await environment.pass(3 * FRAME);
    expect(turns).toEqual([pressed - (pressed % FRAME) + 2 * FRAME]);
  });

  test("has a turn every 250 ms, no more and no less, if no picture with a key is drawn", async () => {
    environment.frameLength = 100_000;
    await type(1, 10);
    stream();
    const began = environment.now();
    await type(50, 40);
    expect(turns).toHaveLength(8);
    const gaps = turns.map((at, index) => at - (turns[index - 1] ?? began));
    expect(Math.max(...gaps)).toBeLessThanOrEqual(250);
  });

  test("rests longer while somebody types if its turns take long", async () => {
    await type(1, 20);
    keysFirst.frame(() => {
      environment.sleep(60);
      stream();
    });
    await type(20, 100);
    const [first = 0] = turns;
    expect(first - 1_000_000).toBeGreaterThan(60 + 4 * 60);
  });

  test("is shown with every picture as soon as the person has sent what they typed", async () => {
    await type(5, 60);
    stream();
    keysFirst.sent();
    await environment.pass(200);
    turns = [];
    await environment.pass(10 * FRAME);
    expect(turns).toHaveLength(10);
  });

  test("is shown with every picture again when the person has stopped", async () => {
    stream();
    await type(5, 60);
    await environment.pass(1_000);
    turns = [];
    await environment.pass(10 * FRAME);
    expect(turns).toHaveLength(10);
  });
});

describe("the page", () => {
  test("stands still from the picture with the first key until the person has stopped", async () => {
    const began = environment.now();
    await type(10, 100);
    const lastKey = environment.now() - 100;
    await environment.pass(2_000);
    expect(stillness).toEqual([
      [true, began + FRAME - (began % FRAME)],
      [false, lastKey + 600],
    ]);
  });

  test("moves again as soon as the person has sent what they typed", async () => {
    await type(3, 100);
    keysFirst.sent();
    expect(stillness.at(-1)).toEqual([false, environment.now()]);
    await environment.pass(2_000);
    expect(stillness).toHaveLength(2);
  });

  test("does not begin to stand still for what was sent before it was drawn", async () => {
    keysFirst.typed();
    keysFirst.sent();
    await environment.pass(2_000);
    expect(stillness).toEqual([]);
  });
});

test("what is taken back while it waits does not come", async () => {
  const acts: string[] = [];
  keysFirst.typed();
  const cancel = keysFirst.frame(() => acts.push("taken back"));
  keysFirst.frame(() => acts.push("kept"));
  cancel();
  await environment.pass(500);
  expect(acts).toEqual(["kept"]);
});
