// Lists of modes: those of the agent itself, and how changes reach the files.

import * as vscode from "vscode";
import { MODES } from "../../../web/src/view/review/review-labels";
import type { Services } from "../services";

const SWITCH_REVIEW = "Switch Review Mode";

interface ModePick extends vscode.QuickPickItem {
  readonly choose: () => Promise<unknown>;
}

/** Picker of the review mode: how changes reach the person's files. */
export async function chooseReviewMode({ connection, current }: Services, sessionId: string): Promise<void> {
  const status = await connection.call((client) => client.getReviewStatus({ sessionId }));
  const picks = MODES.filter(({ mode }) => status.possible.includes(mode)).map(
    ({ mode, icon, name, description }): ModePick => ({
      label: `$(${icon}) ${name}`,
      detail: description,
      description: mode === status.mode ? "current" : "",
      choose: () => connection.call((client) => client.setReviewMode({ sessionId, mode })),
    }),
  );
  const title = status.hint === "" ? SWITCH_REVIEW : `${SWITCH_REVIEW} (${status.hint})`;
  const placeHolder = "How changes reach your files";
  await (await vscode.window.showQuickPick(picks, { title, placeHolder }))?.choose();
  await current.refresh();
}

/** Picker of the agent's own modes. Many agents have none. */
export async function chooseAgentMode({ connection, current }: Services, sessionId: string): Promise<void> {
  const { session } = await connection.call((client) => client.getSession({ sessionId }));
  const option = session?.options.find(({ category }) => category === "mode");
  const agent = session?.summary?.agent ?? "";
  if (option === undefined || option.choices.length === 0) {
    const words = `Portico: The agent “${agent}” has no modes.`;
    if ((await vscode.window.showInformationMessage(words, SWITCH_REVIEW)) === SWITCH_REVIEW)
      await vscode.commands.executeCommand("portico.switchReviewMode");
    return;
  }
  const { optionId } = option;
  const chosen = option.value.case === "choice" ? option.value.value : "";
  const picks = option.choices.map(({ name, value, description }): ModePick => ({
    label: name,
    description: value === chosen ? "current" : "",
    detail: description,
    choose: () => {
      const request = { sessionId, optionId, value: { case: "choice" as const, value } };
      return connection.call((client) => client.setSessionConfig(request));
    },
  }));
  const options = { title: "Switch Agent Mode", placeHolder: `How “${agent}” works` };
  await (await vscode.window.showQuickPick(picks, options))?.choose();
  await current.refresh();
}
