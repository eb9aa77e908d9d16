// Notifications that can be closed by the extension, unlike VS Code's messages. They are shown as progress, and their
// answers are links.

import * as vscode from "vscode";

const ANSWER = "portico.answerNote";
// VS Code takes the words of this button as well; where it does not, they are "Cancel".
const LATER = "Not Now" as unknown as boolean;

export class DismissibleNotifications implements vscode.Disposable {
  readonly #open = new Map<string, (choice: number | undefined) => void>();
  readonly #listening: vscode.Disposable;

  constructor() {
    this.#listening = vscode.commands.registerCommand(ANSWER, (note: unknown, choice: unknown) => {
      if (typeof note === "string" && typeof choice === "number") this.close(note, choice);
    });
  }

  /** The chosen action; undefined if the notification was dismissed or withdrawn. */
  async show(note: string, words: string, choices: readonly string[]): Promise<number | undefined> {
    const answer = new Promise<number | undefined>((resolve) => this.#open.set(note, resolve));
    const links = choices.map((choice, place) => {
      const name = withoutLinks(choice).replaceAll('"', "”");
      const given = encodeURIComponent(JSON.stringify([note, place]));
      return `[${name}](command:${ANSWER}?${given} "${name}")`;
    });
    const title = `${withoutLinks(words)} — ${links.join(" · ")}`;
    const options = { location: vscode.ProgressLocation.Notification, title, cancellable: LATER };
    return await vscode.window.withProgress(options, (progress, cancel) => {
      // A full bar does not move while the notification waits.
      progress.report({ increment: 100 });
      cancel.onCancellationRequested(() => this.close(note));
      return answer;
    });
  }

  close(note: string, choice?: number): void {
    this.#open.get(note)?.(choice);
    this.#open.delete(note);
  }

  dispose(): void {
    for (const note of [...this.#open.keys()]) this.close(note);
    this.#listening.dispose();
  }
}

/** Words of an agent that must not become a link, because links of notifications run commands. */
export function withoutLinks(words: string): string {
  return words.replaceAll("[", "(").replaceAll("]", ")");
}
