// Installs Portico into an environment of the extension.

import { join } from "node:path";
import * as vscode from "vscode";
import { activeInterpreter } from "./program-locator";
import { bundledWheel, createEnvironment } from "./managed-environment";

export class Installer {
  readonly #wheels: string;
  readonly #folder: string;
  readonly #log: vscode.LogOutputChannel;
  #making: Promise<string | undefined> | undefined;

  constructor(context: vscode.ExtensionContext, log: vscode.LogOutputChannel) {
    this.#wheels = vscode.Uri.joinPath(context.extensionUri, "dist", "wheel").fsPath;
    this.#folder = environmentFolder(context);
    this.#log = log;
  }

  /** The installed program; undefined if that failed. Concurrent calls share one installation. */
  install(): Promise<string | undefined> {
    this.#making ??= this.#install().finally(() => (this.#making = undefined));
    return this.#making;
  }

  async #install(): Promise<string | undefined> {
    const wheel = await bundledWheel(this.#wheels);
    if (wheel === undefined) {
      void vscode.window.showErrorMessage(
        "This build of the extension does not include Portico. Install it with: pip install portico",
      );
      return undefined;
    }
    const interpreter = await activeInterpreter();
    const usual = process.platform === "win32" ? ["py", "python"] : ["python3", "python"];
    const options = { location: vscode.ProgressLocation.Notification, title: "Portico", cancellable: true };
    return await vscode.window.withProgress(options, async (progress, cancel) => {
      const stop = new AbortController();
      cancel.onCancellationRequested(() => stop.abort());
      try {
        const program = await createEnvironment({
          pythons: [...(interpreter === "" ? [] : [interpreter]), ...usual],
          wheel,
          folder: this.#folder,
          platform: process.platform,
          environ: process.env,
          signal: stop.signal,
          report: (what) => {
            this.#log.info(what);
            progress.report({ message: `${what} …` });
          },
        });
        this.#log.info(`installed ${program}`);
        return program;
      } catch (error) {
        if (stop.signal.aborted) return undefined;
        const words = error instanceof Error ? error.message : String(error);
        this.#log.error(words);
        void vscode.window.showErrorMessage(`Could not install Portico. ${words}`);
        return undefined;
      }
    });
  }
}

export function environmentFolder(context: vscode.ExtensionContext): string {
  return join(context.globalStorageUri.fsPath, "environment");
}
