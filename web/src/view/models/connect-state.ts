// Whether the connect dialog is open, and whether a session needs it.

import { signal, type Signal } from "@preact/signals";
import type { Gateway } from "../../gateway/gateway";
import type { SessionDetail } from "../../generated/portico/v1/agent_pb";
import type { ConfigOption } from "../../generated/portico/v1/events_pb";

/** The agent whose models are Portico's own. */
const PORTER = "porter";
/** Part of the dialog that is wanted first. */
export type ConnectPart = "model" | "coder";
const wanted = new WeakMap<Gateway, Signal<ConnectPart | undefined>>();

/** Subject of the open dialog; undefined while it is closed. */
export function connectDialog(gateway: Gateway): Signal<ConnectPart | undefined> {
  const known = wanted.get(gateway);
  if (known !== undefined) return known;
  const made = signal<ConnectPart | undefined>(undefined);
  wanted.set(gateway, made);
  return made;
}

/** Whether more models can be connected for the agent of a session by this option. */
export function canConnectModels(detail: SessionDetail | undefined, { category }: ConfigOption): boolean {
  return category === "model" && detail?.summary?.agent === PORTER;
}

/** Chats, and is no help with code. */
const TINY = "offline:smollm2";

/** Whether the agent has none yet, or only the tiny one, chosen by the session or by what the settings say. */
export function lacksModel(detail: SessionDetail | undefined): boolean {
  const option = detail?.options.find((one) => canConnectModels(detail, one));
  const chosen = option?.choices.find(({ value }) => value === option.value.value);
  return chosen !== undefined && (!chosen.name.includes(":") || chosen.name.includes(TINY));
}
