// A permission request, and the line it leaves behind.

import type { Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import {
  PermissionOutcome,
  PermissionRisk,
  PermissionScope,
  ToolKind,
  type PermissionOption,
  type PermissionRequested,
} from "../../generated/portico/v1/events_pb";
import type { Decision, PermissionItem } from "../../model/types";
import { lazy } from "../lazy";
import type { RowContext } from "../timeline/row-context";
import { discardKept, keptSignal, type CardProps } from "./card";
import { Disclosure } from "./disclosure";
import { focusNextRequest } from "./pending-bar";
import { hasDetails, PermissionDetails, showsAction } from "./permission-details";
import {
  agentName,
  answerLabel,
  decisionLabel,
  denyingOption,
  kindIcon,
  kindLabel,
  onceOption,
  purposeLabel,
  shortTitle,
} from "./permission-labels";
import { RequestCard, RequestTrail } from "./request-card";

const AllowMenu = lazy(() => import("./permission-menu").then((module) => module.AllowMenu));
const RejectForm = lazy(() => import("./permission-menu").then((module) => module.RejectForm));

/** A decision on this request. */
export type Answer = Omit<Decision, "requestId">;
export type OnAnswer = (answer: Answer, reason?: string) => void;
type OpenMenu = "allow" | "reject" | undefined;

const KEPT = ["menu", "open", "answering", "pattern", "trust", "reason"];

export function PermissionCard(props: CardProps<PermissionItem>) {
  const settled = props.item.resolved !== undefined || props.item.abandoned;
  return settled ? <PermissionTrail {...props} /> : <PermissionRequest {...props} />;
}

function PermissionRequest(props: CardProps<PermissionItem>) {
  const { item, session } = props;
  const { request } = item;
  const key = `permission ${item.key}`;
  const open = keptSignal(session, `${key} open`, () => showsAction(request));
  const answering = keptSignal(session, `${key} answering`, () => false);
  const menu = keptSignal<OpenMenu>(session, `${key} menu`, () => undefined);
  const title = shortTitle(request.title, session.detail.value?.summary?.workspace);
  const once = onceOption(request);
  const reject = denyingOption(request);
  useEffect(
    () => () => {
      if (session.detail.peek()?.permissions.every((one) => one.requestId !== request.requestId) !== true)
        return;
      for (const part of KEPT) discardKept(session, `${key} ${part}`);
    },
    [],
  );

  const answer: OnAnswer = (chosen, reason = "") => {
    if (answering.peek()) return;
    answering.value = true;
    void session.decide([{ requestId: request.requestId, ...chosen }], reason).then(() => {
      answering.value = false;
      focusNextRequest(session, request.requestId);
    });
  };
  const press = (event: KeyboardEvent): void => {
    const option = { a: once, r: reject }[event.key];
    if (option === undefined || !isPlainKey(event)) return;
    event.preventDefault();
    answer(only(option));
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
      <p class="p-card-about p-soft">
        {`${agentName(session)} wants to ${purposeLabel(request.toolKind)}.`} <Risks request={request} />
      </p>
      {hasDetails(request) && (
        <Disclosure label="Details" open={open}>
          <PermissionDetails request={request} place={item.key} context={contextOf(props)} />
        </Disclosure>
      )}
      {once !== undefined && reject !== undefined && isPlainQuestion(request) ? (
        <>
          <div class="p-card-actions">
            <SplitButton
              name="allow"
              label={answerLabel(request, once, "Allow")}
              more="More ways to allow"
              main
              menu={menu}
              act={() => answer(only(once))}
            />
            <SplitButton
              name="reject"
              label={answerLabel(request, reject, "Reject")}
              more="Reject with a reason"
              menu={menu}
              act={() => answer(only(reject))}
            />
          </div>
          {menu.value === "allow" && (
            <AllowMenu
              request={request}
              once={once}
              place={key}
              session={session}
              gateway={props.gateway}
              answer={answer}
            />
          )}
          {menu.value === "reject" && (
            <RejectForm reject={reject} place={key} session={session} title={title} answer={answer} />
          )}
        </>
      ) : (
        <div class="p-card-actions">
          {request.options.map((option) => (
            <OneClickButton key={option.optionId} label={option.name} act={() => answer(only(option))} />
          ))}
        </div>
      )}
    </RequestCard>
  );
}

/** Whether to allow or not; other questions have the agent's own words on their buttons. */
function isPlainQuestion({ options, toolKind }: PermissionRequested): boolean {
  const once = options.filter((one) => onceOption({ options: [one] }) !== undefined);
  return once.length === 1 && toolKind !== ToolKind.SWITCH_MODE;
}

function only({ optionId }: PermissionOption): Answer {
  return { optionId, scope: PermissionScope.ONCE };
}

function Risks({ request }: { readonly request: PermissionRequested }) {
  return (
    <>
      {request.risks.map((risk) => (
        <span key={risk} class="p-risk">
          <i class="codicon codicon-warning" aria-hidden="true" />
          {risk === PermissionRisk.NETWORK ? "Uses the network" : "Outside the workspace"}
        </span>
      ))}
    </>
  );
}

interface SplitButtonProps {
  readonly name: "allow" | "reject";
  readonly label: string;
  readonly more: string;
  readonly main?: boolean;
  readonly menu: Signal<OpenMenu>;
  readonly act: () => void;
}

function SplitButton({ name, label, more, main = false, menu, act }: SplitButtonProps) {
  const style = `p-button${main ? " p-button-main" : ""}`;
  const open = menu.value === name;
  return (
    <span class="p-split">
      <OneClickButton label={label} style={style} hint={name === "allow" ? "A" : "R"} act={act} />
      <button
        type="button"
        class={style}
        aria-label={more}
        title={more}
        aria-expanded={open}
        onClick={() => (menu.value = open ? undefined : name)}
      >
        <i class={`codicon codicon-chevron-${open ? "up" : "down"}`} aria-hidden="true" />
      </button>
    </span>
  );
}

interface OneClickProps {
  readonly label: string;
  readonly style?: string;
  /** The key that does the same. */
  readonly hint?: string;
  readonly act: () => void;
}

function OneClickButton({ label, style = "p-button", hint, act }: OneClickProps) {
  return (
    <button
      type="button"
      class={style}
      aria-keyshortcuts={hint}
      onClick={(event) => {
        // The second half of a double click belongs to whatever stood here before.
        if (event.detail <= 1) act();
      }}
    >
      {label}
      {hint !== undefined && <kbd aria-hidden="true">{hint}</kbd>}
    </button>
  );
}

function PermissionTrail(props: CardProps<PermissionItem>) {
  const { item, session } = props;
  const { request, resolved } = item;
  return (
    <RequestTrail
      session={session}
      kept={KEPT.map((part) => `permission ${item.key} ${part}`)}
      takesFocus={false}
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
  const kept =
    resolved === undefined || resolved.scope <= PermissionScope.ONCE ? "" : resolved.rule || request.rule;
  return (
    <>
      {outcome}: <span class="p-trail-title">{shortTitle(request.title, workspace)}</span>
      {by !== "" && ` · ${by}`}
      {kept !== "" && (
        <>
          {" · covers "}
          <code class="p-rule">{kept}</code>
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
  const taken = event.target instanceof HTMLTextAreaElement || event.target instanceof HTMLInputElement;
  return !taken && !event.repeat && !event.ctrlKey && !event.altKey && !event.metaKey;
}
