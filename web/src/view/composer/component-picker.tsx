// Picker of the components of a session: a check list with the state of each and the reason.

import { useComputed, useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { ComponentState, type Component } from "../../generated/portico/v1/agent_pb";
import type { SessionModel } from "../../model/types";
import { componentDetail, componentIcon, switchedBy } from "./component-labels";
import { indexAfterKey } from "./list-navigation";
import { PopupButton } from "./popup-button";

export function ComponentPicker({ session }: { readonly session: SessionModel }) {
  const components = useSignal<readonly Component[] | undefined>(undefined);
  const isUsable = useComputed(
    () => session.detail.value !== undefined && !session.detail.value.openElsewhere,
  );
  const take = (found: readonly Component[] | undefined): void => {
    if (found !== undefined) components.value = found;
  };
  if (!isUsable.value) return null;
  return (
    <PopupButton
      label="Components"
      icon="extensions"
      panelClass="p-picker-popup p-components"
      onOpen={() => void session.listComponents().then(take)}
    >
      <div class="p-picker-heading p-soft">For this session, from the next prompt on</div>
      {components.value === undefined ? (
        <div class="p-picker-heading p-soft">Loading…</div>
      ) : (
        <List
          components={components.value}
          onSwitch={(name, on) => void session.switchComponent(name, on).then(take)}
        />
      )}
    </PopupButton>
  );
}

interface ListProps {
  readonly components: readonly Component[];
  readonly onSwitch: (name: string, on: boolean) => void;
}

function List({ components, onSwitch }: ListProps) {
  const list = useRef<HTMLUListElement>(null);
  useLayoutEffect(() => list.current?.querySelector("button")?.focus(), []);
  return (
    <ul aria-label="Components" ref={list} onKeyDown={moveFocus}>
      {components.map((one) => (
        <li key={one.name}>
          <ComponentRow component={one} onSwitch={(on) => onSwitch(one.name, on)} />
        </li>
      ))}
    </ul>
  );
}

interface ComponentRowProps {
  readonly component: Component;
  readonly onSwitch: (on: boolean) => void;
}

function ComponentRow({ component, onSwitch }: ComponentRowProps) {
  const isOn = component.state !== ComponentState.OFF;
  const by = switchedBy(component);
  return (
    <button
      type="button"
      class={`p-choice p-component${component.state === ComponentState.FAILED ? " p-component-failed" : ""}`}
      role="checkbox"
      aria-checked={isOn}
      aria-disabled={component.fixed ? true : undefined}
      onClick={() => {
        if (!component.fixed) onSwitch(!isOn);
      }}
    >
      <i class={`codicon codicon-${componentIcon(component.state)}`} aria-hidden="true" />
      <span class="p-choice-words">
        <span>
          {component.name}
          {by !== "" && <span class="p-component-by">{by}</span>}
        </span>
        <span class="p-choice-more">{componentDetail(component)}</span>
      </span>
    </button>
  );
}

function moveFocus(event: KeyboardEvent): void {
  const list = event.currentTarget;
  if (!(list instanceof HTMLElement)) return;
  const rows = [...list.querySelectorAll("button")];
  const next = indexAfterKey(
    event.key,
    rows.length,
    rows.findIndex((row) => row === document.activeElement),
  );
  if (next === undefined) return;
  rows[next]?.focus();
  event.preventDefault();
}
