// A permission request, and the line it leaves behind.

import type { Signal } from "@preact/signals";
import { useRef } from "preact/hooks";
import {
  PermissionOutcome,
  PermissionScope,
  type PermissionOption,
  type PermissionRequested,
} from "../../generated/portico/v1/events_pb";
import type { PermissionItem } from "../../model/types";
import type { RowContext } from "../timeline/row-context";
import { keptSignal, type CardProps } from "./card";
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
import { RequestCard, RequestTrail } from "./request-card";

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
    <RequestCard
      requestId={request.requestId}
      label={`Permission: ${title}`}
      icon={kindIcon(request.toolKind)}
      kind={kindLabel(request.toolKind)}
      title={title}
      onKeyDown={press}
    >
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
            title={`Shortcut: ${place + 1}`}
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
    </RequestCard>
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
  const { request, resolved } = item;
  return (
    <RequestTrail
      session={session}
      kept={["scope", "open", "answering"].map((part) => `permission ${item.key} ${part}`)}
      takesFocus={takesFocus}
      accepted={resolved?.outcome === PermissionOutcome.ALLOWED}
      text={<TrailText item={item} workspace={session.detail.value?.summary?.workspace ?? ""} />}
      detailsLabel="Details"
    >
      {hasDetails(request) ? (
        <PermissionDetails request={request} place={item.key} context={contextOf(props)} />
      ) : undefined}
    </RequestTrail>
  );
}

function TrailText({ item: { request, resolved }, workspace }: { item: PermissionItem; workspace: string }) {
  const { outcome, by } =
    resolved === undefined
      ? { outcome: "Not answered", by: "the turn ended" }
      : decisionLabel(request, resolved);
  const remembered = resolved !== undefined && resolved.scope > PermissionScope.ONCE && request.rule !== "";
  return (
    <>
      {outcome}: <span class="p-trail-title">{shortTitle(request.title, workspace)}</span>
      {by !== "" && ` · ${by}`}
      {remembered && (
        <>
          {" · covers "}
          <code class="p-rule">{request.rule}</code>
        </>
      )}
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
