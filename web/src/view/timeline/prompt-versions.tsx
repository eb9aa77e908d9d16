// Versions of an edited prompt, and the field that makes another one in its place.

import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { branchesOf, pointAt } from "../../model/branches";
import { ReviewMode } from "../../generated/portico/v1/agent_pb";
import { reviewOf } from "../../model/review";
import { countOf } from "../../model/review-actions";
import { isFailure } from "../../model/review-status";
import type { PromptItem } from "../../model/types";
import { adoptStyles } from "../late-styles";
import { discardKept, isActive, keptSignal } from "../cards/card";
import { FormProblem } from "../form";
import { preferencesOf } from "../preferences";
import { focusComposer } from "../shell/composer-focus";
import { IconButton } from "./elements";
import { keptOpen, type RowContext } from "./row-context";

const CSS = `
.p-versions { align-items: center; color: var(--p-text-soft); display: flex; font-size: 12px; gap: 2px; justify-content: flex-end; margin-block-start: 4px; }
.p-prompt-edit { display: flex; flex-direction: column; gap: 8px; }
.p-prompt-edit textarea { background: var(--p-back); border: 1px solid var(--p-border-strong); border-radius: var(--p-radius); box-sizing: border-box; color: var(--p-text); field-sizing: content; font: inherit; max-height: 50vh; min-height: 3lh; padding: 6px 8px; resize: vertical; width: 100%; }
.p-prompt-edit label { align-items: baseline; display: flex; gap: 6px; }
.p-prompt-edit .p-card-actions { margin: 0; }
.p-prompt-edit .p-soft { margin: 0; }
`;

interface PromptPartProps {
  readonly item: PromptItem;
  readonly context: RowContext;
}

/** "2 of 3" with a way to the version before and after it; nothing at a prompt that was never edited. */
export function PromptVersions({ item, context }: PromptPartProps) {
  adoptStyles(CSS);
  const { session, gateway, onSwitchSession } = context;
  const point = pointAt(branchesOf(session, gateway).points.value, item);
  if (point === undefined || onSwitchSession === undefined) return null;
  const { versions, current } = point;
  const show = (place: number): void => {
    const version = versions[place];
    if (version !== undefined) onSwitchSession(version.sessionId, Number(version.seq));
  };
  return (
    <div class="p-versions" role="group" aria-label="Versions of this prompt">
      <IconButton
        icon="chevron-left"
        label="Previous version"
        disabled={current === 0}
        act={() => show(current - 1)}
      />
      <span>
        {current + 1} of {versions.length}
      </span>
      <IconButton
        icon="chevron-right"
        label="Next version"
        disabled={current === versions.length - 1}
        act={() => show(current + 1)}
      />
    </div>
  );
}

/** The text of a prompt as a field. Sending it leaves this version as it is. */
export function PromptEditor({ item, context }: PromptPartProps) {
  adoptStyles(CSS);
  const { session, gateway, onSwitchSession } = context;
  const field = useRef<HTMLTextAreaElement>(null);
  const key = `edit ${item.key}`;
  const text = keptSignal(session, key, () => item.text);
  const restores = useSignal(false);
  const problem = useSignal("");
  const busy = useSignal(false);
  const changed = useChangedFiles({ item, context });
  const isWorking = isActive(session.state.value);
  const { sendKey } = preferencesOf(gateway.memory);
  useLayoutEffect(() => {
    const { current } = field;
    current?.focus();
    current?.setSelectionRange(current.value.length, current.value.length);
  }, []);
  const leave = (): void => {
    discardKept(session, key);
    keptOpen(session, key).value = undefined;
  };
  const send = async (): Promise<void> => {
    if (busy.peek() || isWorking || text.peek().trim() === "") return;
    busy.value = true;
    const checkpointId = restores.peek() ? (item.checkpoint?.checkpointId ?? "") : "";
    const made = await branchesOf(session, gateway).edit(item, text.peek(), checkpointId);
    busy.value = false;
    if (isFailure(made)) {
      problem.value = `${made.message} ${made.suggestion}`.trim();
      return;
    }
    leave();
    onSwitchSession?.(made.id, 0);
    focusComposer();
  };
  const press = (event: KeyboardEvent): void => {
    if (event.isComposing) return;
    const sends = sendKey.peek() === "enter" ? !event.shiftKey : event.ctrlKey || event.metaKey;
    if (event.key === "Escape") leave();
    else if (event.key === "Enter" && sends) void send();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="p-prompt-edit" role="group" aria-label="Edit prompt">
      <textarea
        ref={field}
        aria-label="Edited prompt"
        value={text.value}
        onInput={({ currentTarget }) => (text.value = currentTarget.value)}
        onKeyDown={press}
      />
      {changed > 0 && (
        <label>
          <input
            type="checkbox"
            checked={restores.value}
            onChange={({ currentTarget }) => (restores.value = currentTarget.checked)}
          />
          Restore {countOf(changed, "file")} to the state before this prompt
        </label>
      )}
      <p class="p-soft">The conversation continues from here. The version you edit is kept.</p>
      {isWorking && <p class="p-soft">The agent is working. Wait for it, or stop it first.</p>}
      <FormProblem text={problem.value} />
      <div class="p-card-actions">
        <button
          type="button"
          class="p-button p-button-main"
          disabled={busy.value || isWorking || text.value.trim() === ""}
          onClick={() => void send()}
        >
          Send
        </button>
        <button type="button" class="p-button" onClick={leave}>
          Cancel
        </button>
      </div>
    </div>
  );
}

/** Number of files that differ from the checkpoint before a prompt, where going back to it would help the new version. */
function useChangedFiles({ item, context: { session, gateway } }: PromptPartProps): number {
  const count = useSignal(0);
  const checkpointId = item.checkpoint?.checkpointId;
  useEffect(() => {
    const { status } = reviewOf(session, gateway);
    if (checkpointId === undefined || status.mode.peek() !== ReviewMode.DIRECT) return;
    void status.changesSince(checkpointId).then((found) => {
      if (!isFailure(found)) count.value = found.files.length + found.unlisted;
    });
  }, [session, gateway, checkpointId]);
  return count.value;
}
