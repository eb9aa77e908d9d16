import { afterEach, expect, test, vi } from "vitest";
import type { EditorCommand } from "../src/gateway/gateway";
import type { AppModel } from "../src/view/shell/app-model";
import { followCommands } from "../src/view/shell/editor-commands";

afterEach(() => vi.unstubAllGlobals());

test("a session that the editor opens by itself leaves the focus where it is", () => {
  const focus = vi.fn();
  vi.stubGlobal("requestAnimationFrame", (draw: () => void) => draw());
  vi.stubGlobal("document", { querySelector: () => ({ focus }) });
  const opened: string[] = [];
  let obey: (command: EditorCommand) => void = () => undefined;
  const app = {
    gateway: {
      onCommand: (act: typeof obey) => {
        obey = act;
        return () => undefined;
      },
    },
    openSession: (sessionId: string) => opened.push(sessionId),
  };
  const nothing = (): void => undefined;
  followCommands(app as unknown as AppModel, {
    showSettings: nothing,
    showHistory: nothing,
    showBoard: nothing,
    showRequest: nothing,
  });
  obey({ name: "open_session", sessionId: "s-1", quietly: true });
  expect(opened).toEqual(["s-1"]);
  expect(focus).not.toHaveBeenCalled();
  obey({ name: "open_session", sessionId: "s-2" });
  expect(opened).toEqual(["s-1", "s-2"]);
  expect(focus).toHaveBeenCalledOnce();
});
