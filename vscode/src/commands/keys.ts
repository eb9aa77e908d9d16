// Forgetting a key of a model that VS Code keeps. They come here from the page.

import * as vscode from "vscode";
import { forgetKey, keysIn } from "../keys";
import type { Parts } from "../parts";

export async function disconnectModel({ link, secrets }: Parts): Promise<void> {
  const keys = await keysIn(secrets);
  if (Object.keys(keys).length === 0) {
    void vscode.window.showInformationMessage("Portico: VS Code keeps no key of a model.");
    return;
  }
  const variable = await vscode.window.showQuickPick(Object.keys(keys), {
    title: "Disconnect a Model",
    placeHolder: "The key to forget",
  });
  if (variable === undefined) return;
  await forgetKey(link, secrets, variable);
  void vscode.window.showInformationMessage(`Portico: ${variable} is forgotten.`);
}
