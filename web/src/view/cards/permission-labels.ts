// Labels of permission requests, scopes and decisions.

import {
  DecidedBy,
  PermissionOptionKind,
  PermissionOutcome,
  PermissionScope,
  ToolKind,
  type PermissionOption,
  type PermissionRequested,
  type PermissionResolved,
} from "../../generated/portico/v1/events_pb";
import { parseJson } from "../../model/json";
import type { SessionModel } from "../../model/types";

export function allows({ kind }: PermissionOption): boolean {
  return kind === PermissionOptionKind.ALLOW_ONCE || kind === PermissionOptionKind.ALLOW_ALWAYS;
}

/** The mildest option that denies. */
export function denyingOption({ options }: PermissionRequested): PermissionOption | undefined {
  return (
    options.find((one) => one.kind === PermissionOptionKind.REJECT_ONCE) ??
    options.find((one) => one.kind === PermissionOptionKind.REJECT_ALWAYS)
  );
}

/** The option that allows only this request; undefined if there is none. */
export function onceOption({ options }: Pick<PermissionRequested, "options">): PermissionOption | undefined {
  return options.find((one) => one.kind === PermissionOptionKind.ALLOW_ONCE);
}

/** Names that say no more than "Allow" or "Reject". */
const PLAIN_NAME =
  /^(allow|approve|accept|yes|ok|okay|continue|reject|deny|decline|no|cancel)(\s+(once|it|this|this time))?[.!]?$/i;

/** The agent's name of an answer where it offers just two and says more than yes or no; otherwise the usual one. */
export function answerLabel(
  { options }: Pick<PermissionRequested, "options">,
  { name }: PermissionOption,
  usual: string,
): string {
  const says = name.trim();
  return options.length !== 2 || says === "" || PLAIN_NAME.test(says) ? usual : says;
}

/** Agents like to wrap commands in backticks; paths of the folder are said without it. */
export function shortTitle(title: string, workspace = ""): string {
  const line = title.replaceAll("`", "").replace(/\s+/g, " ").trim();
  const root = workspace.replace(/\/+$/, "");
  const short = root === "" ? line : line.replaceAll(`${root}/`, "");
  return short === "" ? "Use a tool" : short;
}

/** The name of a session's agent, as people say it. */
export function agentName(session: SessionModel): string {
  const { agent = "" } = session.detail.value?.summary ?? {};
  return agent === "" ? "The agent" : `${agent.slice(0, 1).toUpperCase()}${agent.slice(1)}`;
}

/** Purpose of a kind of tool, after "wants to". */
export function purposeLabel(kind: ToolKind): string {
  switch (kind) {
    case ToolKind.READ:
      return "read a file";
    case ToolKind.EDIT:
      return "change a file";
    case ToolKind.DELETE:
      return "delete a file";
    case ToolKind.MOVE:
      return "move a file";
    case ToolKind.SEARCH:
      return "search";
    case ToolKind.EXECUTE:
      return "run a command";
    case ToolKind.FETCH:
      return "load a page";
    case ToolKind.SWITCH_MODE:
      return "change its mode";
    case ToolKind.THINK:
    case ToolKind.OTHER:
    case ToolKind.UNSPECIFIED:
      return "use a tool";
  }
}

/** The trail that a decision leaves: what was decided, and by whom. */
export function decisionLabel(
  request: PermissionRequested,
  resolved: PermissionResolved,
): { readonly outcome: string; readonly by: string } {
  return { outcome: outcomeLabel(request, resolved), by: deciderLabel(resolved) };
}

function outcomeLabel(
  request: PermissionRequested,
  { outcome, scope, optionId }: PermissionResolved,
): string {
  const option = request.options.find((one) => one.optionId === optionId);
  switch (outcome) {
    case PermissionOutcome.ALLOWED:
      if (scope === PermissionScope.SESSION) return "Allowed for this session";
      if (scope === PermissionScope.ALWAYS) return "Allowed always";
      return option?.kind === PermissionOptionKind.ALLOW_ALWAYS
        ? `Allowed (“${option.name}”)`
        : "Allowed once";
    case PermissionOutcome.DENIED:
      return option?.kind === PermissionOptionKind.REJECT_ALWAYS ? `Denied (“${option.name}”)` : "Denied";
    case PermissionOutcome.CANCELED:
    case PermissionOutcome.UNSPECIFIED:
      return "Not answered";
  }
}

function deciderLabel({ by, outcome, rule, person }: PermissionResolved): string {
  switch (by) {
    case DecidedBy.PERSON:
      return person === "" ? "by you" : `by ${person}`;
    case DecidedBy.POLICY:
      return rule === "" ? "by a rule" : `by the rule ${rule}`;
    case DecidedBy.NOBODY:
      return outcome === PermissionOutcome.CANCELED ? "the turn was stopped" : "no one was there to answer";
    case DecidedBy.UNSPECIFIED:
      return "";
  }
}

/** Icon of a kind of tool. */
export function kindIcon(kind: ToolKind): string {
  switch (kind) {
    case ToolKind.READ:
      return "file";
    case ToolKind.EDIT:
      return "edit";
    case ToolKind.DELETE:
      return "trash";
    case ToolKind.MOVE:
      return "arrow-swap";
    case ToolKind.SEARCH:
      return "search";
    case ToolKind.EXECUTE:
      return "terminal";
    case ToolKind.THINK:
      return "lightbulb";
    case ToolKind.FETCH:
      return "globe";
    case ToolKind.SWITCH_MODE:
      return "settings";
    case ToolKind.OTHER:
    case ToolKind.UNSPECIFIED:
      return "tools";
  }
}

/** Name of a kind of tool, for screen readers. */
export function kindLabel(kind: ToolKind): string {
  const name = ToolKind[kind].toLowerCase().replace("_", " ");
  return name === "unspecified" || name === "other" ? "tool" : name;
}

/** The command that an input would run, if it is one. */
export function commandOf(inputJson: string | undefined): string | undefined {
  const input = parseJson(inputJson);
  if (typeof input !== "object" || input === null) return undefined;
  const values = input as Record<string, unknown>;
  const command = values["command"] ?? values["cmd"];
  const words = [command, values["args"]].flat().filter((word) => word !== undefined);
  return command === undefined || words.length === 0 ? undefined : words.map(argumentText).join(" ");
}

/** An input as a person can read it. */
export function inputText(inputJson: string | undefined): string {
  const input = parseJson(inputJson);
  if (input === undefined) return inputJson ?? "";
  return typeof input === "string" ? input : JSON.stringify(input, undefined, 2);
}

function argumentText(word: unknown): string {
  return typeof word === "string" ? word : JSON.stringify(word);
}
