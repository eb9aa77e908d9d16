// More answers to a permission request: for longer, for more, by a pattern, or with a reason.

import { useEffect, useRef } from "preact/hooks";
import type { Gateway } from "../../gateway/gateway";
import type { PreviewRuleResponse } from "../../generated/portico/v1/agent_pb";
import {
  PermissionScope,
  type PermissionOption,
  type PermissionRequested,
} from "../../generated/portico/v1/events_pb";
import { countOf } from "../../model/review-actions";
import { RulePreview } from "../../model/rule-preview";
import type { SessionModel } from "../../model/types";
import { AUTO_ACCEPT_KEYS } from "../shell/shortcut-keys";
import { acceptedEdit, autoAcceptOf } from "./auto-accept";
import { keptSignal } from "./card";
import { agentName, allows } from "./permission-labels";
import type { OnAnswer } from "./permission-card";

const { ONCE, SESSION, ALWAYS } = PermissionScope;
interface AllowMenuProps {
  readonly request: PermissionRequested;
  readonly once: PermissionOption;
  /** Name of the card among the kept values of the session. */
  readonly place: string;
  readonly session: SessionModel;
  readonly gateway: Gateway;
  readonly answer: OnAnswer;
}

export function AllowMenu(props: AllowMenuProps) {
  const { request, once, session, answer } = props;
  const first = useRef<HTMLDivElement>(null);
  useEffect(() => focusWhenOpened(first.current, "button"), []);
  const allow = (scope: PermissionScope, rule: string) => (): void =>
    answer({ optionId: once.optionId, scope, rule });
  const others = request.options.filter((one) => allows(one) && one !== once);
  return (
    <div class="p-allow-menu" role="group" aria-label="More ways to allow" ref={first}>
      {request.rule !== "" && (
        <>
          <Row label="Allow for this session" rule={request.rule} act={allow(SESSION, request.rule)} />
          <Row label="Always allow exactly this" rule={request.rule} act={allow(ALWAYS, request.rule)} />
        </>
      )}
      {request.widerRule !== "" && (
        <Row
          label="Always allow all of this kind here"
          rule={request.widerRule}
          act={allow(ALWAYS, request.widerRule)}
        />
      )}
      {acceptedEdit(request) !== undefined && (
        <Row
          label="Auto-accept edits in this session"
          rule={AUTO_ACCEPT_KEYS}
          act={() => (autoAcceptOf(session).value = true)}
        />
      )}
      {others.map(({ optionId, name }) => (
        <Row key={optionId} label={name} rule="" act={() => answer({ optionId, scope: ONCE })} />
      ))}
      {request.rule !== "" && <PatternForm {...props} />}
      {request.rule !== "" && <TrustForm {...props} />}
    </div>
  );
}

function Row({
  label,
  rule,
  act,
}: {
  readonly label: string;
  readonly rule: string;
  readonly act: () => void;
}) {
  return (
    <button type="button" class="p-empty-row" onClick={act}>
      <span class="p-empty-name">{label}</span>
      {rule !== "" && <code class="p-rule">{rule}</code>}
    </button>
  );
}

/** A rule of the person's own, with what it would cover. */
function PatternForm({ request, once, place, session, gateway, answer }: AllowMenuProps) {
  const pattern = keptSignal(session, `${place} pattern`, () => {
    const first = request.widerRule === "" ? request.rule : request.widerRule;
    return new RulePreview(gateway, { sessionId: session.id, requestId: request.requestId }, first);
  }).value;
  const { rule, preview, problem } = pattern;
  useEffect(() => pattern.open(), [pattern]);
  const usable = preview.value?.coversRequest === true;
  const allow = (scope: PermissionScope): void =>
    answer({ optionId: once.optionId, scope, rule: rule.peek() });
  return (
    <form class="p-rule-form" onSubmit={(event) => event.preventDefault()}>
      <label>
        Pattern
        <input
          class="p-field p-mono"
          value={rule.value}
          spellcheck={false}
          onInput={({ currentTarget }) => (rule.value = currentTarget.value)}
        />
      </label>
      <p class="p-soft" role="status">
        {preview.value === undefined ? problem.value || "Checking…" : coveredText(preview.value)}
      </p>
      <div class="p-card-actions">
        <button type="button" class="p-button" disabled={!usable} onClick={() => allow(SESSION)}>
          Allow pattern for this session
        </button>
        <button type="button" class="p-button" disabled={!usable} onClick={() => allow(ALWAYS)}>
          Always allow pattern
        </button>
      </div>
    </form>
  );
}

function coveredText({ problem, coversRequest, files, fileCount }: PreviewRuleResponse): string {
  if (problem !== "") return problem;
  const more = fileCount - files.length;
  const names = files.join(", ") + (more > 0 ? ` and ${more} more` : "");
  const what = fileCount === 0 ? "" : ` It covers ${countOf(fileCount, "file")} now: ${names}.`;
  return (coversRequest ? "Covers this request." : "Does not cover this request.") + what;
}

function TrustForm({ once, place, session, answer }: AllowMenuProps) {
  const asks = keptSignal(session, `${place} trust`, () => false);
  const agent = agentName(session);
  if (!asks.value)
    return <Row label={`Trust ${agent} in this folder…`} rule="" act={() => (asks.value = true)} />;
  return (
    <div class="p-rule-form">
      <p>
        {agent} will not ask again in this folder, except for files that make programs run. Deny rules still
        hold.
      </p>
      <div class="p-card-actions">
        <button
          type="button"
          class="p-button"
          onClick={() => answer({ optionId: once.optionId, scope: ALWAYS, rule: "all" })}
        >
          Trust {agent}
        </button>
        <button type="button" class="p-button" onClick={() => (asks.value = false)}>
          Cancel
        </button>
      </div>
    </div>
  );
}

interface RejectFormProps {
  readonly reject: PermissionOption;
  readonly place: string;
  readonly session: SessionModel;
  readonly title: string;
  readonly answer: OnAnswer;
}

export function RejectForm({ reject, place, session, title, answer }: RejectFormProps) {
  const reason = keptSignal(session, `${place} reason`, () => "");
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => focusWhenOpened(form.current, "input"), []);
  return (
    <form
      ref={form}
      class="p-rule-form"
      onSubmit={(event) => {
        event.preventDefault();
        const why = reason.peek().trim();
        const told = why === "" ? "" : `I rejected “${title}”: ${why}`;
        answer({ optionId: reject.optionId, scope: ONCE }, told);
      }}
    >
      <label>
        Reason, sent to the agent as the next prompt
        <input
          class="p-field"
          value={reason.value}
          onInput={({ currentTarget }) => (reason.value = currentTarget.value)}
        />
      </label>
      <div class="p-card-actions">
        <button type="submit" class="p-button">
          Reject with this reason
        </button>
      </div>
    </form>
  );
}

/** A menu that was opened takes the focus; one that only came back into sight does not. */
function focusWhenOpened(menu: HTMLElement | null, target: "button" | "input"): void {
  const { activeElement } = document;
  const inCard = menu?.closest(".p-card")?.contains(activeElement) === true;
  if (inCard && !menu.contains(activeElement)) menu.querySelector<HTMLElement>(target)?.focus();
}
