// A permission that the agent asks for, and the quiet line it leaves when it was answered.

import type { Signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import {
    PermissionOutcome,
    PermissionScope,
    type PermissionOption,
    type PermissionRequested,
    type PermissionResolved,
} from "../../generated/portico/v1/events_pb";
import type { PermissionItem } from "../../model/types";
import { forgetKept, keptSignal, type CardProps } from "./card";
import { Disclosure } from "./disclosure";
import { hasDetails, PermissionDetails } from "./permission-details";
import {
    allowingOption,
    allows,
    decisionWords,
    kindIcon,
    kindWords,
    scopeWords,
    titleOf,
} from "./permission-words";

/** Where the card of a request is in the document, while it is on the screen. */
export function cardId(requestId: string): string {
    return `p-ask-${requestId}`;
}

export function PermissionCard(props: CardProps<PermissionItem>) {
    const { request, resolved, abandoned } = props.item;
    const hadFocus = useRef(false);
    const settled = resolved !== undefined || abandoned;
    return settled ? (
        <Trail {...props} request={request} resolved={resolved} takesFocus={hadFocus.current} />
    ) : (
        <Question {...props} hadFocus={hadFocus} />
    );
}

interface QuestionProps extends CardProps<PermissionItem> {
    readonly hadFocus: { current: boolean };
}

function Question({ item, session, gateway, hadFocus }: QuestionProps) {
    const { request } = item;
    const key = `permission ${item.key}`;
    const scope = keptSignal(session, `${key} scope`, () => PermissionScope.ONCE);
    const open = keptSignal(session, `${key} open`, () => false);
    const answering = keptSignal(session, `${key} answering`, () => false);
    const workspace = session.detail.value?.summary?.workspace ?? "";
    const main = allowingOption(request);

    const decide = async (option: PermissionOption): Promise<void> => {
        if (answering.peek()) return;
        answering.value = true;
        const chosen = allows(option) ? scope.peek() : PermissionScope.ONCE;
        await session.decide([{ requestId: request.requestId, optionId: option.optionId, scope: chosen }]);
        answering.value = false;
    };
    const press = (event: KeyboardEvent): void => {
        const option = request.options[Number(event.key) - 1];
        const elsewhere =
            event.target instanceof HTMLSelectElement || event.target instanceof HTMLInputElement;
        if (
            option === undefined ||
            elsewhere ||
            event.repeat ||
            event.ctrlKey ||
            event.altKey ||
            event.metaKey
        )
            return;
        event.preventDefault();
        void decide(option);
    };
    return (
        <div
            id={cardId(request.requestId)}
            class="p-card p-card-asks"
            role="group"
            tabIndex={0}
            aria-label={`Permission: ${titleOf(request.title, workspace)}`}
            onKeyDown={press}
            onFocusIn={() => (hadFocus.current = true)}
            onFocusOut={() => (hadFocus.current = false)}
        >
            <p class="p-card-title">
                <i class={`codicon codicon-${kindIcon(request.toolKind)}`} aria-hidden="true" />
                <span class="p-aloud">{kindWords(request.toolKind)}: </span>
                <span class="p-card-words">{titleOf(request.title, workspace)}</span>
            </p>
            {hasDetails(request) && (
                <Disclosure label="Details" open={open}>
                    <PermissionDetails request={request} workspace={workspace} gateway={gateway} />
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
                        disabled={answering.value}
                        onClick={(event) => {
                            // The second half of a double click belongs to whatever stood here before.
                            if (event.detail <= 1) void decide(option);
                        }}
                    >
                        {option.name}
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
                            request.scopes.find((one) => String(one) === currentTarget.value) ??
                            PermissionScope.ONCE;
                    }}
                >
                    {request.scopes.map((one) => (
                        <option key={one} value={String(one)}>
                            {scopeWords(one)}
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

interface TrailProps extends CardProps<PermissionItem> {
    readonly request: PermissionRequested;
    readonly resolved: PermissionResolved | undefined;
    readonly takesFocus: boolean;
}

function Trail({ item, session, gateway, request, resolved, takesFocus }: TrailProps) {
    const line = useRef<HTMLDivElement>(null);
    const workspace = session.detail.value?.summary?.workspace ?? "";
    useEffect(() => {
        for (const part of ["scope", "open", "answering"])
            forgetKept(session, `permission ${item.key} ${part}`);
        if (takesFocus) line.current?.focus({ preventScroll: true });
    }, []);
    const told =
        resolved === undefined
            ? { outcome: "Not answered", by: "the turn ended" }
            : decisionWords(request, resolved);
    const allowed = resolved?.outcome === PermissionOutcome.ALLOWED;
    const remembered = resolved !== undefined && resolved.scope > PermissionScope.ONCE && request.rule !== "";
    return (
        <div ref={line} class="p-trail" tabIndex={-1}>
            <p class="p-line">
                <i
                    class={`codicon codicon-${allowed ? "check p-good" : "circle-slash"}`}
                    aria-hidden="true"
                />
                <span>
                    {told.outcome}: <span class="p-trail-title">{titleOf(request.title, workspace)}</span>
                    {told.by !== "" && ` · ${told.by}`}
                    {remembered && (
                        <>
                            {" · covers "}
                            <code class="p-rule">{request.rule}</code>
                        </>
                    )}
                </span>
            </p>
            {hasDetails(request) && (
                <Disclosure label="Details">
                    <PermissionDetails request={request} workspace={workspace} gateway={gateway} />
                </Disclosure>
            )}
        </div>
    );
}
