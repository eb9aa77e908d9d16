// Commands about the server and its program.

import * as vscode from "vscode";
import { command, type Parts } from "../parts";
import { disconnectModel } from "./keys";

export function serverCommands(parts: Parts): vscode.Disposable[] {
  const { server, installing, log } = parts;
  return [
    command("showLog", parts, () => log.show()),
    command("install", parts, async () => {
      const program = await installing.install();
      if (program === undefined) return;
      await use(program);
      server.forget();
      await server.address();
    }),
    command("chooseProgram", parts, async () => {
      const options = { title: "The portico program", openLabel: "Use", canSelectMany: false };
      const [program] = (await vscode.window.showOpenDialog(options)) ?? [];
      if (program !== undefined) await use(program.fsPath);
    }),
    command("restartServer", parts, async () => {
      const options = { location: vscode.ProgressLocation.Window, title: "Portico is starting again" };
      await vscode.window.withProgress(options, () => server.restart());
    }),
    command("mendBuilds", parts, () => mendBuilds(parts)),
    command("connectModel", parts, () => parts.chat.tell({ name: "connect_model" })),
    command("disconnectModel", parts, () => disconnectModel(parts)),
  ];
}

/** Comes before whatever else there may be, also before what a setting of this workspace names in vain. */
async function use(program: string): Promise<void> {
  const settings = vscode.workspace.getConfiguration("portico");
  if (settings.inspect<string>("program")?.workspaceValue !== undefined)
    await settings.update("program", undefined, vscode.ConfigurationTarget.Workspace);
  await settings.update("program", program, vscode.ConfigurationTarget.Global);
}

/** The page that came with the extension and the server that runs are not of one build. */
async function mendBuilds({ server }: Parts): Promise<void> {
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
