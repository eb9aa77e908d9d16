// Notes above the composer: the agent is starting, a prompt waits for the connection, the session is open elsewhere,
// another draft, a rejected file.

import { useComputed, type ReadonlySignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { TurnState } from "../../generated/portico/v1/events_pb";
import type { SessionModel } from "../../model/types";
import type { Composition } from "./composition";
import type { PromptEditor } from "./prompt-editor";
import type { AgentName } from "./prompt-field";
import { IconButton } from "../timeline/elements";

interface NotesProps {
  readonly session: SessionModel;
  readonly composition: Composition;
  readonly agent: ReadonlySignal<AgentName>;
  readonly editor: PromptEditor;
}

export function ComposerNotes({ session, composition, agent, editor }: NotesProps) {
  const elsewhere = useComputed(() => session.detail.value?.openElsewhere === true);
  const readsOnly = useComputed(() => session.detail.value?.summary?.readsOnly === true);
  const complaint = composition.attachmentError.value;
  const name = agent.value.title === "" ? "The agent" : agent.value.title;
  return (
    <div class="p-notes">
      {elsewhere.value && (
        <Note icon="lock">This session is open in another program. Close it there to write here.</Note>
      )}
      {readsOnly.value && (
        <Note icon="eye">Read-only session: {name} can read files but not change them.</Note>
      )}
      <StartNote session={session} name={name} />
      <ConflictNote session={session} editor={editor} />
      {composition.waiting.value !== undefined && (
        <Note icon="debug-disconnect">
          <span>Not connected. This prompt is sent when the connection is back.</span>
          <button type="button" class="p-link-button" onClick={() => composition.withdraw()}>
            Don’t send
          </button>
        </Note>
      )}
      {complaint !== undefined && (
        <Note icon="warning" alert>
          <span>{complaint}</span>
          <IconButton
            icon="close"
            label="Dismiss"
            act={() => (composition.attachmentError.value = undefined)}
          />
        </Note>
      )}
    </div>
  );
}

function StartNote({ session, name }: { session: SessionModel; name: string }) {
  const state = session.state.value;
  if (state !== TurnState.STARTING && state !== TurnState.RESUMING) return null;
  return (
    <Note icon="loading" spinning late>
      {state === TurnState.STARTING ? `${name} is starting…` : `${name} is resuming…`}
    </Note>
  );
}

/** Swaps both texts, so that neither is lost. */
function ConflictNote({ session, editor }: { session: SessionModel; editor: PromptEditor }) {
  const words = session.draftConflict.value;
  if (words === undefined) return null;
  const use = (): void => {
    const mine = editor.text;
    editor.replaceAll(words);
    session.draftConflict.value = mine.trim() === "" ? undefined : mine;
  };
  return (
    <Note icon="files">
      <span class="p-note-words" title={words}>
        Another version of this draft: <q dir="auto">{words}</q>
      </span>
      <button type="button" class="p-link-button" onClick={use}>
        Use it
      </button>
      <IconButton icon="close" label="Dismiss" act={() => (session.draftConflict.value = undefined)} />
    </Note>
  );
}

interface NoteProps {
  readonly icon: string;
  readonly alert?: boolean;
  readonly spinning?: boolean;
  /** Shown only if it lasts. */
  readonly late?: boolean;
  readonly children: ComponentChildren;
}

function Note({ icon, alert = false, spinning = false, late = false, children }: NoteProps) {
  return (
    <div
      class={`p-note${alert ? " p-note-alert" : ""}${late ? " p-note-late" : ""}`}
      role={alert ? "alert" : "status"}
    >
      <i class={`codicon codicon-${icon}${spinning ? " p-spinning" : ""}`} aria-hidden="true" />
      {children}
    </div>
  );
}
