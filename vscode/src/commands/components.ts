// Choice of a session's components, in a list with check marks.

import * as vscode from "vscode";
import { ComponentState, type Component } from "../../../web/src/generated/portico/v1/agent_pb";
import { componentDetail, switchedBy } from "../../../web/src/view/composer/component-labels";
import type { Services } from "../services";

/** Switches what the person has changed, and nothing else. */
export async function chooseComponents({ connection }: Services, sessionId: string): Promise<void> {
  const { components } = await connection.call((client) => client.listComponents({ sessionId }));
  const choices = components.filter(({ fixed }) => !fixed).map(choiceOf);
  const picked = await vscode.window.showQuickPick(choices, {
    title: "Choose Components",
    placeHolder: "For this session, from the next prompt on",
    canPickMany: true,
    matchOnDetail: true,
  });
  if (picked === undefined) return;
  const on = choices.filter((one) => !one.picked && picked.includes(one)).map(({ label }) => label);
  const off = choices.filter((one) => one.picked && !picked.includes(one)).map(({ label }) => label);
  if (on.length + off.length > 0)
    await connection.call((client) => client.switchComponents({ sessionId, on, off }));
}

interface ComponentPick extends vscode.QuickPickItem {
  readonly picked: boolean;
}

function choiceOf(component: Component): ComponentPick {
  return {
    label: component.name,
    description: switchedBy(component),
    detail: componentDetail(component),
    picked: component.state !== ComponentState.OFF,
  };
}
