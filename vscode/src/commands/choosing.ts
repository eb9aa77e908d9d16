// Lists to pick from: agents, and the ways in which changes reach the files.

import * as vscode from "vscode";
import type { Agent } from "../../../web/src/generated/portico/v1/agent_pb";
import { MODES } from "../../../web/src/view/review/words";
import type { Parts } from "../parts";

export async function chooseAgent(agents: readonly Agent[]): Promise<string | undefined> {
  const choices = agents.map((agent) => ({
    label: agent.title === "" ? agent.name : agent.title,
    description: agent.isDefault ? "the usual one" : agent.installed ? "" : "not installed",
    detail: agent.installed ? "" : agent.installHint,
    agent: agent.name,
  }));
  const options = { title: "Switch Agent", placeHolder: "Another agent begins a new session" };
  return (await vscode.window.showQuickPick(choices, options))?.agent;
}

/** How changes reach the files, and the modes that the agent itself has. */
export async function chooseMode({ link, current }: Parts, sessionId: string): Promise<void> {
  const status = await link.call((client) => client.getReviewStatus({ sessionId }));
  const option = current.detail.value?.options.find(({ category }) => category === "mode");
  const chosen = option?.value.case === "choice" ? option.value.value : "";
  const reviews = MODES.filter(({ mode }) => status.possible.includes(mode)).map(
    ({ mode, icon, name, description }): Way => ({
      label: `$(${icon}) ${name}`,
      detail: description,
      description: mode === status.mode ? "now" : "",
      choose: () => link.call((client) => client.setReviewMode({ sessionId, mode })),
    }),
  );
  const modes = (option?.choices ?? []).map(({ name, value, description }): Way => ({
    label: name,
    description: value === chosen ? "now" : "",
    detail: description,
    choose: () => {
      const request = {
        sessionId,
        optionId: option?.optionId ?? "",
        value: { case: "choice" as const, value },
      };
      return link.call((client) => client.setSessionConfig(request));
    },
  }));
  const own = modes.length === 0 ? [] : [heading(option?.name ?? "Mode"), ...modes];
  const ways = [heading("How changes reach your files"), ...reviews, ...own];
  const title = status.hint === "" ? "Switch Mode" : `Switch Mode (${status.hint})`;
  const picked = await vscode.window.showQuickPick(ways, { title });
  await picked?.choose();
  await current.refresh();
}

interface Way extends vscode.QuickPickItem {
  readonly choose: () => Promise<unknown>;
}

function heading(label: string): Way {
  return { label, kind: vscode.QuickPickItemKind.Separator, choose: () => Promise.resolve() };
}
