// Queued prompts, above the composer.

import { useComputed, type ReadonlySignal } from "@preact/signals";
import type { QueuedPrompt, SessionSummary } from "../../generated/portico/v1/agent_pb";
import type { SessionModel } from "../../model/types";
import type { PromptEditor } from "./prompt-editor";
import { isActive } from "../shell/turn-state";

interface QueueProps {
  readonly session: SessionModel;
  readonly editor: PromptEditor;
  readonly writer: ReadonlySignal<SessionSummary | undefined>;
}

export function PromptQueue({ session, editor, writer }: QueueProps) {
  const queue = session.drafts.value?.queue ?? [];
  if (queue.length === 0) return null;
  const stands = !isActive(session.state.value) && writer.value === undefined;
  return (
    <ol class="p-queue" aria-label="Queued prompts">
      {queue.map((prompt) => (
        <QueuedRow key={prompt.promptId} prompt={prompt} session={session} editor={editor} stands={stands} />
      ))}
    </ol>
  );
}

interface QueuedProps {
  readonly prompt: QueuedPrompt;
  readonly session: SessionModel;
  readonly editor: PromptEditor;
  /** No turn is under way that it could wait for, here or in the same folder. */
  readonly stands: boolean;
}

function QueuedRow({ prompt, session, editor, stands }: QueuedProps) {
  const { promptId, text, attachments } = prompt;
  const edit = (): void => {
    if (editor.text.trim() !== "") return;
    // First the words into the draft, then out of the queue: whatever fails in between, they are somewhere.
    editor.replaceAll(text);
    void session.unqueue(promptId);
  };
  const words = text.trim() === "" ? "Attachments only" : text;
  return (
    <li class="p-queued">
      <i class="codicon codicon-list-ordered" aria-hidden="true" />
      <span class="p-queued-text" title={text}>
        {words}
      </span>
      {attachments > 0 && (
        <span class="p-soft" title={attachments === 1 ? "1 attachment" : `${attachments} attachments`}>
          <i class="codicon codicon-attach" aria-hidden="true" />
          {attachments}
        </span>
      )}
      {stands && (
        <button
          type="button"
          class="p-link-button p-queued-send"
          onClick={() => void session.sendQueued(promptId)}
        >
          Send now
        </button>
      )}
      {attachments === 0 && <EditButton session={session} words={words} edit={edit} />}
      <button
        type="button"
        class="p-icon-button"
        title="Remove"
        aria-label={`Remove: ${words}`}
        onClick={() => void session.unqueue(promptId)}
      >
        <i class="codicon codicon-close" aria-hidden="true" />
      </button>
    </li>
  );
}

interface EditButtonProps {
  readonly session: SessionModel;
  readonly words: string;
  readonly edit: () => void;
}

function EditButton({ session, words, edit }: EditButtonProps) {
  const free = useIsEmpty(session);
  return (
    <button
      type="button"
      class="p-icon-button"
      title={free.value ? "Edit" : "Send or clear the composer first"}
      aria-label={`Edit: ${words}`}
      disabled={!free.value}
      onClick={edit}
    >
      <i class="codicon codicon-edit" aria-hidden="true" />
    </button>
  );
}

function useIsEmpty(session: SessionModel): ReadonlySignal<boolean> {
  return useComputed(() => session.draft.value.trim() === "");
}
