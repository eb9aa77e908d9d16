// Shows a failed start to the person, once, with its remedies as buttons.

import * as vscode from "vscode";
import type { Server } from "./server";
import { NotTrusted, remediesFor, SaidOnce, wordsFor, type Remedy } from "./troubles";

const COMMANDS: Readonly<Record<Remedy, string>> = {
  Install: "portico.install",
  "Choose Program": "portico.chooseProgram",
  "Manage Trust": "workbench.trust.manage",
  "Restart Server": "portico.restartServer",
  "Show Log": "portico.showLog",
};

export function tellTroubles(server: Server, log: vscode.LogOutputChannel): vscode.Disposable {
  const said = new SaidOnce();
  return server.state.listen((state) => {
    if (state.state === "running") {
      log.info("the server answers", { port: state.address.port, version: state.address.version });
      said.forget();
    }
    if (state.state === "failed" && said.isNew(wordsFor(state.error))) void tell(state.error, log);
  });
}

async function tell(error: unknown, log: vscode.LogOutputChannel): Promise<void> {
  const words = wordsFor(error);
  const isChoice = error instanceof NotTrusted;
  if (isChoice) log.info(words);
  else log.error(words);
  const show = isChoice ? vscode.window.showWarningMessage : vscode.window.showErrorMessage;
  const chosen = await show(words, ...remediesFor(error));
  if (chosen !== undefined) await vscode.commands.executeCommand(COMMANDS[chosen]);
}
