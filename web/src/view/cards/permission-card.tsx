// A permission that the agent asks for, and the quiet line it leaves when it was answered.

import type { Signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import {
  PermissionOutcome,
  PermissionScope,
  type PermissionOption,
  type PermissionRequested,
} from "../../generated/portico/v1/events_pb";
import type { PermissionItem } from "../../model/types";
import type { RowContext } from "../timeline/row-context";
import { discardKept, keptSignal, type CardProps } from "./card";
import { Disclosure } from "./disclosure";
import { changesFiles, hasDetails, PermissionDetails } from "./permission-details";
import {
  allowingOption,
  allows,
  decisionLabel,
  kindIcon,
  kindLabel,
  scopeLabel,
  shortTitle,
} from "./permission-labels";

/** Where the card of a request is in the document, while it is on the screen. */
export function cardId(requestId: string): string {
  return `p-ask-${requestId}`;
}

export function PermissionCard(props: CardProps<PermissionItem>) {
  const answeredHere = useRef(false);
  const settled = props.item.resolved !== undefined || props.item.abandoned;
  return settled ? (
    <PermissionTrail {...props} takesFocus={answeredHere.current} />
  ) : (
    <PermissionRequest {...props} onAnswer={() => (answeredHere.current = true)} />
  );
}

function PermissionRequest(props: CardProps<PermissionItem> & { readonly onAnswer: () => void }) {
  const { item, session } = props;
  const { request } = item;
  const key = `permission ${item.key}`;
  const scope = keptSignal(session, `${key} scope`, () => PermissionScope.ONCE);
  const open = keptSignal(session, `${key} open`, () => changesFiles(request));
  const answering = keptSignal(session, `${key} answering`, () => false);
  const title = shortTitle(request.title, session.detail.value?.summary?.workspace);
  const main = allowingOption(request);

  const decide = async (option: PermissionOption): Promise<void> => {
    if (answering.peek()) return;
    answering.value = true;
    props.onAnswer();
    const chosen = allows(option) ? scope.peek() : PermissionScope.ONCE;
    await session.decide([{ requestId: request.requestId, optionId: option.optionId, scope: chosen }]);
    answering.value = false;
  };
  const press = (event: KeyboardEvent): void => {
    const option = request.options[Number(event.key) - 1];
    if (option === undefined || !isPlainKey(event)) return;
    event.preventDefault();
    void decide(option);
  };
  return (
    <div
      id={cardId(request.requestId)}
      class="p-card p-card-asks"
      role="group"
      tabIndex={0}
      aria-label={`Permission: ${title}`}
      onKeyDown={press}
    >
      <p class="p-card-title">
        <i class={`codicon codicon-${kindIcon(request.toolKind)}`} aria-hidden="true" />
        <span class="p-aloud">{kindLabel(request.toolKind)}: </span>
        <span class="p-card-words">{title}</span>
      </p>
      {hasDetails(request) && (
        <Disclosure label="Details" open={open}>
          <PermissionDetails request={request} place={item.key} context={contextOf(props)} />
        </Disclosure>
      )}
      <ScopeChoice request={request} scope={scope} disabled={answering.value} />
      <div class="p-card-actions">
        {request.options.map((option, place) => (
          <button
            key={option.optionId}
            type="button"
            class={`p-button${option === main ? " p-button-main" : ""}`}
            title={`Press ${place + 1} while this card has the focus`}
            aria-disabled={answering.value}
            onClick={(event) => {
              // The second half of a double click belongs to whatever stood here before.
              if (event.detail <= 1) void decide(option);
            }}
          >
            {option.name}
            {allows(option) && scope.value !== PermissionScope.ONCE && " + remember"}
          </button>
        ))}
      </div>
    </div>
  );
}

interface ScopeChoiceProps {
  readonly request: PermissionRequested;
  readonly scope: Signal<PermissionScope>;
  readonly disabled: boolean;
}

function ScopeChoice({ request, scope, disabled }: ScopeChoiceProps) {
  if (request.scopes.length < 2) return null;
  const remembers = scope.value !== PermissionScope.ONCE;
  return (
    <p class="p-card-scope p-soft">
      <label>
        If allowed:{" "}
        <select
          class="p-field p-select"
          disabled={disabled}
          value={String(scope.value)}
          onChange={({ currentTarget }) => {
            scope.value =
              request.scopes.find((one) => String(one) === currentTarget.value) ?? PermissionScope.ONCE;
          }}
        >
          {request.scopes.map((one) => (
            <option key={one} value={String(one)}>
              {scopeLabel(one)}
            </option>
          ))}
        </select>
      </label>
      {remembers && request.rule !== "" && (
        <span>
          {" "}
          covers <code class="p-rule">{request.rule}</code>
        </span>
      )}
    </p>
  );
}

function PermissionTrail(props: CardProps<PermissionItem> & { readonly takesFocus: boolean }) {
  const { item, session, takesFocus } = props;
  const line = useRef<HTMLDivElement>(null);
  useEffect(() => {
    for (const part of ["scope", "open", "answering"]) discardKept(session, `permission ${item.key} ${part}`);
    if (takesFocus) line.current?.focus({ preventScroll: true });
  }, []);
  const words = <TrailLine item={item} workspace={session.detail.value?.summary?.workspace ?? ""} />;
  return (
    <div ref={line} class="p-trail" tabIndex={-1}>
      {hasDetails(item.request) ? (
        <Disclosure label="Details" line={words}>
          <PermissionDetails request={item.request} place={item.key} context={contextOf(props)} />
        </Disclosure>
      ) : (
        <div class="p-line">{words}</div>
      )}
    </div>
  );
}

function TrailLine({ item: { request, resolved }, workspace }: { item: PermissionItem; workspace: string }) {
  const told =
    resolved === undefined
      ? { outcome: "Not answered", by: "the turn ended" }
      : decisionLabel(request, resolved);
  const allowed = resolved?.outcome === PermissionOutcome.ALLOWED;
  const remembered = resolved !== undefined && resolved.scope > PermissionScope.ONCE && request.rule !== "";
  return (
    <>
      <i class={`codicon codicon-${allowed ? "check p-good" : "circle-slash"}`} aria-hidden="true" />
      <span>
        {told.outcome}: <span class="p-trail-title">{shortTitle(request.title, workspace)}</span>
        {told.by !== "" && ` · ${told.by}`}
        {remembered && (
          <>
            {" · covers "}
            <code class="p-rule">{request.rule}</code>
          </>
        )}
      </span>
    </>
  );
}

function contextOf({ session, gateway, onNewSession }: CardProps): RowContext {
  return { session, gateway, onNewSession, workspace: session.detail.value?.summary?.workspace ?? "" };
}

/** A key pressed once, alone, and not in something that takes keys itself. */
function isPlainKey(event: KeyboardEvent): boolean {
  const taken = event.target instanceof HTMLSelectElement || event.target instanceof HTMLInputElement;
  return !taken && !event.repeat && !event.ctrlKey && !event.altKey && !event.metaKey;
}
