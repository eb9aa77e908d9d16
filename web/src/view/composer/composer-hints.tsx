// Hint below the composer: the next blank, the input of a command, or the keys for beginners.

import { useComputed } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { SessionModel } from "../../model/types";
import { commandAwaitingInput } from "./completion-trigger";
import type { Composition } from "./composition";

/** Users with more prompts than this know the keys. */
const BEGINNER_SENDS = 4;

export function ComposerHints({ session, composition }: { session: SessionModel; composition: Composition }) {
  const command = useComputed(() =>
    commandAwaitingInput(session.draft.value, session.detail.value?.commands ?? []),
  );
  // Read once: a line that went away while the person works would move the composer.
  const sends = useRef(composition.sends.peek());
  const blank = useComputed(() => composition.blanks.find(session.draft.value));
  if (blank.value !== undefined) {
    const { name, description } = blank.value;
    return (
      <p class="p-hints p-hints-command" role="status">
        <span>
          Fill in <b>{name}</b>
          {description !== "" && ` (${description})`} or remove it. Tab moves to the next.
        </span>
      </p>
    );
  }
  if (command.value !== undefined) {
    return (
      <p class="p-hints p-hints-command" role="status">
        <b>/{command.value.name}</b> {command.value.hint}
      </p>
    );
  }
  if (sends.current > BEGINNER_SENDS) return null;
  const withEnter = composition.sendKey.value === "enter";
  return (
    <p class="p-hints">
      <span>{withEnter ? "Enter" : "Ctrl+Enter"} to send</span>
      <span>{withEnter ? "Shift+Enter" : "Enter"} for a new line</span>
      <span>/ for commands</span>
      <span>@ for files</span>
    </p>
  );
}
