// Commands about the server and its program.

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
      const options = { title: "The portico program", openLabel: "Use", canSelectMany: false };
      const [program] = (await vscode.window.showOpenDialog(options)) ?? [];
      if (program !== undefined) await setProgram(program.fsPath);
    }),
    registerCommand("restartServer", services, async () => {
      const options = { location: vscode.ProgressLocation.Window, title: "Portico is starting again" };
      await vscode.window.withProgress(options, () => server.restart());
    }),
    registerCommand("mendBuilds", services, () => chooseUpdate(services)),
    registerCommand("connectModel", services, () => services.chat.send({ name: "connect_model" })),
    registerCommand("disconnectModel", services, () => disconnectModel(services)),
  ];
}

/** Comes before whatever else there may be, also before what a setting of this workspace names in vain. */
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
      detail: "Enough if Portico was updated while it ran. Turns under way are stopped; nothing is lost.",
      command: "portico.restartServer",
    },
    {
      label: "$(cloud-download) Use the Portico that this extension carries",
      detail: "Installs it in an environment of its own, and sets portico.program to it.",
      command: "portico.install",
    },
    {
      label: "$(sync) Look for an update of the extension",
      command: "workbench.extensions.action.checkForUpdates",
    },
  ];
  const placeHolder = `The server is Portico ${address.version}, of another build than this extension`;
  const way = await vscode.window.showQuickPick(ways, { placeHolder });
  if (way !== undefined) await vscode.commands.executeCommand(way.command);
}

export async function disconnectModel({ connection, secrets }: Services): Promise<void> {
  const keys = await readKeys(secrets);
  if (Object.keys(keys).length === 0) {
    void vscode.window.showInformationMessage("Portico: VS Code keeps no key of a model.");
    return;
  }
  const variable = await vscode.window.showQuickPick(Object.keys(keys), {
    title: "Disconnect a Model",
    placeHolder: "The key to forget",
  });
  if (variable === undefined) return;
  await deleteKey(connection, secrets, variable);
  void vscode.window.showInformationMessage(`Portico: ${variable} is forgotten.`);
}
