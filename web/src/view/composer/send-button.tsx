// Buttons of the composer: attach, send, queue, stop.

import { useComputed, useSignal, useSignalEffect, type ReadonlySignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { SessionModel } from "../../model/types";
import type { Composition } from "./composition";
import type { PromptEditor } from "./prompt-editor";
import { sendFrom } from "./prompt-field";
import { isActive } from "../shell/turn-state";

interface SendButtonProps {
  readonly session: SessionModel;
  readonly composition: Composition;
  readonly editor: PromptEditor;
  readonly closed: ReadonlySignal<boolean>;
}

export function SendButton({ session, composition, editor, closed }: SendButtonProps) {
  const active = useComputed(() => isActive(session.state.value));
  const something = useComputed(
    () => session.draft.value.trim() !== "" || composition.attachments.value.length > 0,
  );
  const busy = useComputed(() => composition.sending.value || composition.waiting.value !== undefined);
  if (closed.value) return null;
  const key = composition.sendKey.value === "enter" ? "Enter" : "Ctrl+Enter";
  const send = (): void => {
    editor.focus();
    sendFrom(editor, composition);
  };
  return (
    <span class="p-composer-out">
      {active.value && something.value && (
        <button
          type="button"
          class="p-icon-button"
          title={`Queue (${key})`}
          aria-label="Queue"
          onClick={send}
        >
          <i class="codicon codicon-list-ordered" aria-hidden="true" />
        </button>
      )}
      {active.value ? (
        <StopButton session={session} />
      ) : (
        <button
          type="button"
          class="p-send"
          title={`Send (${key})`}
          aria-label="Send"
          disabled={!something.value || busy.value}
          onClick={send}
        >
          <i class="codicon codicon-arrow-up" aria-hidden="true" />
        </button>
      )}
    </span>
  );
}

/** Asked a second time, it does not wait for the agent to obey. */
function StopButton({ session }: { session: SessionModel }) {
  const asked = useSignal(false);
  useSignalEffect(() => {
    if (!isActive(session.state.value)) asked.value = false;
  });
  const label = asked.value ? "Force stop" : "Stop";
  return (
    <button
      type="button"
      class={`p-send p-stop${asked.value ? " p-stop-asked" : ""}`}
      title={asked.value ? "Stopping… Click again to force it." : "Stop (Esc)"}
      aria-label={label}
      onClick={() => {
        void session.stop(asked.peek());
        asked.value = true;
      }}
    >
      <span class="p-stop-square" aria-hidden="true" />
    </button>
  );
}

export function AttachButton({
  composition,
  closed,
}: {
  composition: Composition;
  closed: ReadonlySignal<boolean>;
}) {
  const input = useRef<HTMLInputElement>(null);
  if (closed.value) return null;
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Files to attach"
        onChange={(event) => {
          void composition.attach([...(event.currentTarget.files ?? [])]);
          event.currentTarget.value = "";
        }}
      />
      <button
        type="button"
        class="p-icon-button"
        title="Attach files (or drop or paste them)"
        aria-label="Attach files"
        onClick={() => input.current?.click()}
      >
        <i class="codicon codicon-attach" aria-hidden="true" />
      </button>
    </>
  );
}
