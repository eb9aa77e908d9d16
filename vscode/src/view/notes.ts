// Notifications that can be taken away again, which VS Code's messages cannot: what they ask may be answered elsewhere.
// They are shown as progress, so they stay until then, and their answers are links.

import * as vscode from "vscode";

const ANSWER = "portico.answerNote";
// VS Code takes the words of this button as well; where it does not, they are "Cancel".
const LATER = "Not Now" as unknown as boolean;

export interface Note {
  /** Which of the choices was taken; undefined if none was: it was put off, or taken away. */
  readonly answer: Promise<number | undefined>;
  close(): void;
}

export class Notes implements vscode.Disposable {
  readonly #open = new Map<number, (choice: number | undefined) => void>();
  readonly #listening: vscode.Disposable;
  #last = 0;

  constructor() {
    this.#listening = vscode.commands.registerCommand(ANSWER, (note: unknown, choice: unknown) => {
      if (typeof note === "number" && typeof choice === "number") this.#open.get(note)?.(choice);
    });
  }

  show(words: string, choices: readonly string[]): Note {
    const id = ++this.#last;
    const answer = new Promise<number | undefined>((resolve) => this.#open.set(id, resolve));
    const links = choices.map((choice, place) => {
      const name = plain(choice).replaceAll('"', "”");
      return `[${name}](command:${ANSWER}?${argument(id, place)} "${name}")`;
    });
    const title = `${plain(words)} — ${links.join(" · ")}`;
    const options = { location: vscode.ProgressLocation.Notification, title, cancellable: LATER };
    void vscode.window.withProgress(options, async (progress, cancel) => {
      // A line at rest: nothing is being done while somebody is waited for.
      progress.report({ increment: 100 });
      cancel.onCancellationRequested(() => this.#open.get(id)?.(undefined));
      await answer;
      this.#open.delete(id);
    });
    return { answer, close: () => this.#open.get(id)?.(undefined) };
  }

  dispose(): void {
    for (const close of [...this.#open.values()]) close(undefined);
    this.#listening.dispose();
  }
}

/** Words of an agent that must not become a link, because links of notifications run commands. */
export function plain(words: string): string {
  return words.replaceAll("[", "［").replaceAll("]", "］");
}

function argument(...given: readonly number[]): string {
  return encodeURIComponent(JSON.stringify(given));
}
