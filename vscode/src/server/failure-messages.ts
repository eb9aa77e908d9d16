// Shows why the server could not start, once, with buttons for what to do.

import * as vscode from "vscode";
import type { Server } from "./server";
import { UntrustedWorkspace, remediesFor, RepeatFilter, failureText, type Remedy } from "./start-failure";

const COMMANDS: Readonly<Record<Remedy, string>> = {
  Install: "portico.install",
  "Choose Program": "portico.chooseProgram",
  "Manage Trust": "workbench.trust.manage",
  "Restart Server": "portico.restartServer",
  "Show Log": "portico.showLog",
};

export function showStartFailures(server: Server, log: vscode.LogOutputChannel): vscode.Disposable {
  const said = new RepeatFilter();
  return server.state.listen((state) => {
    if (state.state === "running") {
      log.info("server is running", { port: state.address.port, version: state.address.version });
      said.forget();
    }
    if (state.state === "failed" && said.isNew(failureText(state.error))) void showFailure(state.error, log);
  });
}

async function showFailure(error: unknown, log: vscode.LogOutputChannel): Promise<void> {
  const words = failureText(error);
  const isChoice = error instanceof UntrustedWorkspace;
  if (isChoice) log.info(words);
  else log.error(words);
  const show = isChoice ? vscode.window.showWarningMessage : vscode.window.showErrorMessage;
  const chosen = await show(words, ...remediesFor(error));
  if (chosen !== undefined) await vscode.commands.executeCommand(COMMANDS[chosen]);
}
