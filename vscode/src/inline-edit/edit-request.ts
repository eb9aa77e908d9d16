// The question of an inline edit: what to change, and by which agent or model.

import * as vscode from "vscode";
import type { ServerConnection } from "../server/connection";

/** Empty: the default agent, or its own model. */
export interface EditBy {
  readonly agent: string;
  readonly model: string;
}

export interface EditRequest extends EditBy {
  readonly instruction: string;
}

interface ByItem extends vscode.QuickPickItem {
  readonly by?: EditBy;
}

const DEFAULT: EditBy = { agent: "", model: "" };
const KEY = "inlineEdit";
const CHANGE_BY: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon("hubot"),
  tooltip: "Change Agent or Model",
};

export class EditQuestion {
  readonly #connection: ServerConnection;
  readonly #memory: vscode.Memento;

  constructor(connection: ServerConnection, memory: vscode.Memento) {
    this.#connection = connection;
    this.#memory = memory;
  }

  /** Undefined if the person leaves. The agent is remembered for the next time. */
  async ask(place: string, workspace: string): Promise<EditRequest | undefined> {
    let by = this.#memory.get<EditBy>(KEY, DEFAULT);
    let typed = "";
    for (;;) {
      const answer = await askInstruction(place, by, typed);
      if (answer === undefined) return undefined;
      if (!answer.changeBy) return { ...by, instruction: answer.text };
      typed = answer.text;
      by = (await this.#askBy(workspace)) ?? by;
      await this.#memory.update(KEY, by);
    }
  }

  async #askBy(workspace: string): Promise<EditBy | undefined> {
    const [{ agents }, { models }] = await Promise.all([
      this.#connection.call((client) => client.listAgents({ workspace })),
      this.#connection.call((client) => client.listModels({ workspace })),
    ]);
    const separator = (label: string): ByItem => ({ label, kind: vscode.QuickPickItemKind.Separator });
    const items: ByItem[] = [
      { label: "Default agent", by: DEFAULT },
      separator("Agents"),
      ...agents
        .filter(({ installed }) => installed)
        .map(({ name, title }) => ({ label: title === "" ? name : title, by: { agent: name, model: "" } })),
      separator("Models of Porter"),
      ...models.map(({ name, about }) => ({
        label: name,
        description: about,
        by: { agent: "porter", model: name },
      })),
    ];
    const options = { title: "Edit Inline", placeHolder: "Agent or model that edits", ignoreFocusOut: true };
    return (await vscode.window.showQuickPick(items, options))?.by;
  }
}

function askInstruction(
  place: string,
  { agent, model }: EditBy,
  typed: string,
): Promise<{ text: string; changeBy: boolean } | undefined> {
  const input = vscode.window.createInputBox();
  input.title = `Edit ${place}`;
  input.placeholder = "Describe the change";
  const by = model === "" ? (agent === "" ? "the default agent" : agent) : model;
  input.prompt = `By ${by}. You review the change before it is written.`;
  input.value = typed;
  input.buttons = [CHANGE_BY];
  return new Promise<{ text: string; changeBy: boolean } | undefined>((resolve) => {
    input.onDidAccept(() => {
      const text = input.value.trim();
      if (text !== "") resolve({ text, changeBy: false });
    });
    input.onDidTriggerButton(() => resolve({ text: input.value, changeBy: true }));
    input.onDidHide(() => resolve(undefined));
    input.show();
  }).finally(() => input.dispose());
}
