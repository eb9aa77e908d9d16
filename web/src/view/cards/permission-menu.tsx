// More answers to a permission request: for longer, for more, by a pattern, or with a reason.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Gateway } from "../../gateway/gateway";
import type { PreviewRuleResponse } from "../../generated/portico/v1/agent_pb";
import {
  PermissionScope,
  type PermissionOption,
  type PermissionRequested,
} from "../../generated/portico/v1/events_pb";
import { failureOf } from "../../model/call-failure";
import { countOf } from "../../model/review-actions";
import type { SessionModel } from "../../model/types";
import { agentName, allows } from "./permission-labels";
import type { OnAnswer } from "./permission-card";

const { ONCE, SESSION, ALWAYS } = PermissionScope;
/** After the last letter of a pattern. */
const PAUSE = 150;

interface AllowMenuProps {
  readonly request: PermissionRequested;
  readonly once: PermissionOption;
  readonly session: SessionModel;
  readonly gateway: Gateway;
  readonly answer: OnAnswer;
}

export function AllowMenu(props: AllowMenuProps) {
  const { request, once, answer } = props;
  const first = useRef<HTMLDivElement>(null);
  useEffect(() => first.current?.querySelector("button")?.focus(), []);
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
function PatternForm({ request, once, session, gateway, answer }: AllowMenuProps) {
  const rule = useSignal(request.widerRule === "" ? request.rule : request.widerRule);
  const covered = useSignal("");
  const usable = useSignal(false);
  useEffect(() => {
    let current = true;
    const timer = setTimeout(() => {
      const asked = { sessionId: session.id, requestId: request.requestId, rule: rule.value };
      gateway.client.previewRule(asked).then(
        (preview) => {
          if (!current) return;
          covered.value = coveredText(preview);
          usable.value = preview.coversRequest;
        },
        (reason: unknown) => {
          if (current) covered.value = failureOf(reason).message;
        },
      );
    }, PAUSE);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [rule.value]);
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
        {covered.value}
      </p>
      <div class="p-card-actions">
        <button type="button" class="p-button" disabled={!usable.value} onClick={() => allow(SESSION)}>
          Allow pattern for this session
        </button>
        <button type="button" class="p-button" disabled={!usable.value} onClick={() => allow(ALWAYS)}>
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

function TrustForm({ once, session, answer }: AllowMenuProps) {
  const asks = useSignal(false);
  const agent = agentName(session);
  if (!asks.value)
    return <Row label={`Trust ${agent} in this folder…`} rule="" act={() => (asks.value = true)} />;
  return (
    <div class="p-rule-form">
      <p>
        {agent} will not ask again in this folder, except for files that make programs run. Rules that deny
        still hold.
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
  readonly title: string;
  readonly answer: OnAnswer;
}

export function RejectForm({ reject, title, answer }: RejectFormProps) {
  const reason = useSignal("");
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  return (
    <form
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
          ref={field}
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
