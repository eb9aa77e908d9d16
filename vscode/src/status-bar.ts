// Status bar item, and the context keys that menus depend on.

import * as vscode from "vscode";
import { isActive } from "../../web/src/view/shell/turn-state";
import type { Server } from "./server/server";
import type { CurrentSession } from "./sessions/current-session";
import { statusText } from "./status-text";

export function showStatus(server: Server, current: CurrentSession): vscode.Disposable {
  const item = vscode.window.createStatusBarItem("portico.status", vscode.StatusBarAlignment.Right, 100);
  item.name = "Portico";
  item.command = "portico.openChat";
  const draw = (): void => {
    const { text, tooltip, tone } = statusText(server.state.value, current.detail.value);
    item.text = text;
    item.tooltip = tooltip;
    item.accessibilityInformation = { label: `Portico: ${text.replace(/\$\([^)]*\)\s*/, "")}. ${tooltip}` };
    item.backgroundColor =
      tone === "plain" ? undefined : new vscode.ThemeColor(`statusBarItem.${tone}Background`);
    const detail = current.detail.value;
    const say = (key: string, value: boolean): void =>
      void vscode.commands.executeCommand("setContext", `portico.${key}`, value);
    say("running", server.state.value.state === "running");
    say("busy", detail?.summary !== undefined && isActive(detail.summary.state));
    say("hasSession", detail !== undefined);
    say("hasProposal", (detail?.proposals.length ?? 0) > 0);
  };
  draw();
  item.show();
  return vscode.Disposable.from(item, server.state.listen(draw), current.detail.listen(draw));
}
