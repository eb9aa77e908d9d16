// Queued prompts, above the composer.

import { useSignal, type ReadonlySignal, type Signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { QueuedPrompt, SessionSummary } from "../../generated/portico/v1/agent_pb";
import type { SessionModel } from "../../model/types";
import { IconButton } from "../timeline/elements";

interface QueueProps {
  readonly session: SessionModel;
  /** Another session that writes in the folder, so that nothing can be sent now. */
  readonly writer: ReadonlySignal<SessionSummary | undefined>;
}

export function PromptQueue({ session, writer }: QueueProps) {
  const queue = session.drafts.value?.queue ?? [];
  if (queue.length === 0) return null;
  return (
    <ol class="p-queue" aria-label="Queued prompts">
      {queue.map((prompt, place) => (
        <QueuedRow
          key={prompt.promptId}
          prompt={prompt}
          place={place}
          isLast={place === queue.length - 1}
          canSend={writer.value === undefined}
          session={session}
        />
      ))}
    </ol>
  );
}

interface QueuedProps {
  readonly prompt: QueuedPrompt;
  readonly place: number;
  readonly isLast: boolean;
  readonly canSend: boolean;
  readonly session: SessionModel;
}

function QueuedRow({ prompt, place, isLast, canSend, session }: QueuedProps) {
  const { promptId, text, attachments } = prompt;
  const editing = useSignal(false);
  if (editing.value) return <QueuedEditor prompt={prompt} session={session} editing={editing} />;
  const words = text.trim() === "" ? "Attachments only" : text;
  const move = (to: number) => (): void => void session.changeQueued(promptId, { place: to });
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
      {canSend && (
        <button
          type="button"
          class="p-link-button p-queued-send"
          title="Stop the current turn and send this"
          onClick={() => void session.sendQueued(promptId)}
        >
          Send now
        </button>
      )}
      {place > 0 && <IconButton icon="arrow-up" label={`Move up: ${words}`} act={move(place - 1)} />}
      {!isLast && <IconButton icon="arrow-down" label={`Move down: ${words}`} act={move(place + 1)} />}
      <IconButton icon="edit" label={`Edit: ${words}`} act={() => (editing.value = true)} />
      <IconButton icon="close" label={`Remove: ${words}`} act={() => void session.unqueue(promptId)} />
    </li>
  );
}

interface QueuedEditorProps {
  readonly prompt: QueuedPrompt;
  readonly session: SessionModel;
  readonly editing: Signal<boolean>;
}

function QueuedEditor({ prompt, session, editing }: QueuedEditorProps) {
  const text = useSignal(prompt.text);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  const save = (): void => {
    void session.changeQueued(prompt.promptId, { text: text.peek() });
    editing.value = false;
  };
  return (
    <li class="p-queued">
      <textarea
        ref={field}
        class="p-field"
        rows={2}
        aria-label="Queued prompt"
        value={text.value}
        onInput={({ currentTarget }) => (text.value = currentTarget.value)}
        onKeyDown={(event) => {
          if (event.isComposing) return;
          if (event.key === "Escape") editing.value = false;
          else if (event.key === "Enter" && !event.shiftKey) save();
          else return;
          event.preventDefault();
        }}
      />
      <button type="button" class="p-link-button" onClick={save}>
        Save
      </button>
      <IconButton icon="close" label="Cancel" act={() => (editing.value = false)} />
    </li>
  );
}
