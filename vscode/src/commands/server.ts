// Commands about the server, its program and model keys.

import * as vscode from "vscode";
import { deleteKey, readKeys } from "../model-keys";
import { registerCommand } from "./registration";
import type { Services } from "../services";

export function serverCommands(services: Services): vscode.Disposable[] {
  const { server, installer, log } = services;
  return [
    registerCommand("showLog", services, () => log.show()),
    registerCommand("install", services, async () => {
      const program = await installer.install();
      if (program === undefined) return;
      await setProgram(program);
      server.reset();
      await server.address();
    }),
    registerCommand("chooseProgram", services, async () => {
      const options = { title: "Select the portico Program", openLabel: "Select", canSelectMany: false };
      const [program] = (await vscode.window.showOpenDialog(options)) ?? [];
      if (program !== undefined) await setProgram(program.fsPath);
    }),
    registerCommand("restartServer", services, async () => {
      const options = { location: vscode.ProgressLocation.Window, title: "Restarting Portico" };
      await vscode.window.withProgress(options, () => server.restart());
    }),
    registerCommand("mendBuilds", services, () => chooseUpdate(services)),
    registerCommand("connectModel", services, () => services.chat.send({ name: "connect_model" })),
    registerCommand("disconnectModel", services, () => disconnectModel(services)),
  ];
}

/** Sets the program for the user, and removes a setting of the workspace, which would take precedence. */
async function setProgram(program: string): Promise<void> {
  const settings = vscode.workspace.getConfiguration("portico");
  if (settings.inspect<string>("program")?.workspaceValue !== undefined)
    await settings.update("program", undefined, vscode.ConfigurationTarget.Workspace);
  await settings.update("program", program, vscode.ConfigurationTarget.Global);
}

/** The page that came with the extension and the server that runs are not of one build. */
async function chooseUpdate({ server }: Services): Promise<void> {
  const address = await server.address();
  const ways = [
    {
      label: "$(refresh) Restart the server",
      detail: "Enough if Portico was updated while running. Stops running turns; nothing is lost.",
      command: "portico.restartServer",
    },
    {
      label: "$(cloud-download) Install the bundled Portico",
      detail: "Installs it in its own environment and sets portico.program.",
      command: "portico.install",
    },
    {
      label: "$(sync) Check for extension updates",
      command: "workbench.extensions.action.checkForUpdates",
    },
  ];
  const placeHolder = `The server (Portico ${address.version}) does not match this extension`;
  const way = await vscode.window.showQuickPick(ways, { placeHolder });
  if (way !== undefined) await vscode.commands.executeCommand(way.command);
}

export async function disconnectModel({ connection, secrets }: Services): Promise<void> {
  const keys = await readKeys(secrets);
  if (Object.keys(keys).length === 0) {
    void vscode.window.showInformationMessage("Portico: No model keys are stored.");
    return;
  }
  const variable = await vscode.window.showQuickPick(Object.keys(keys), {
    title: "Disconnect a Model",
    placeHolder: "Select the key to delete",
  });
  if (variable === undefined) return;
  await deleteKey(connection, secrets, variable);
  void vscode.window.showInformationMessage(`Portico: ${variable} deleted.`);
}
