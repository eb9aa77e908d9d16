// Settings of the person's file, in its words: each with its meaning, its value and where that comes from.

import { useSignal, type Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Gateway } from "../../gateway/gateway";
import type { Agent, Setting } from "../../generated/portico/v1/agent_pb";
import { failureOf } from "../../model/call-failure";
import { FormProblem } from "../form";
import { adoptStyles } from "../late-styles";

const CSS = `
.p-setting { display: flex; flex-direction: column; gap: 4px; }
.p-setting-top { align-items: baseline; display: flex; flex-wrap: wrap; gap: 2px 8px; }
.p-setting-top code { font-weight: 600; }
.p-setting textarea { box-sizing: border-box; field-sizing: content; font-family: var(--p-mono); font-size: 12px; max-height: 40vh; min-height: 2lh; resize: vertical; width: 100%; }
.p-setting-row { align-items: center; display: flex; flex-wrap: wrap; gap: 6px; }
.p-setting-row .p-field { flex: 1 1 180px; }
.p-settings-search { box-sizing: border-box; margin-block-end: 8px; width: 100%; }
`;

/** Titles that people look for, with the settings below each. */
export const FILE_GROUPS: readonly { readonly title: string; readonly names: readonly string[] }[] = [
  { title: "Default agent", names: ["agent"] },
  { title: "Model", names: ["model", "models"] },
  { title: "Review mode", names: ["review"] },
  { title: "Components", names: ["components"] },
  { title: "MCP servers", names: ["mcpServers"] },
  { title: "Prompts", names: ["promptDirectories", "sessionVariables"] },
  { title: "Permissions", names: ["permissions"] },
  { title: "Budgets", names: ["maxCostUsd", "budgets"] },
  { title: "Sandbox", names: ["sandbox"] },
  { title: "Agents and proxies", names: ["agents", "proxies"] },
  { title: "Language servers", names: ["languageServers"] },
  { title: "Trust", names: ["trustedWorkspaces", "trustedPackages"] },
];

/** Keys of settings that have few values, by the setting. An empty key is the setting itself. */
const CHOICES: Readonly<Record<string, { readonly key: string; readonly values: readonly string[] }>> = {
  review: { key: "mode", values: ["direct", "proposal", "branch", "worktree"] },
  sandbox: { key: "level", values: ["none", "workspace", "strict"] },
};

/** Sources whose value the person's file does not decide alone. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  environment: "Set by the environment of the server.",
  editor: "Set by the settings of the editor.",
  workspace: "Set by .portico/settings.json of this folder.",
  "user and workspace": "Set by your settings and by .portico/settings.json of this folder. Edit the files.",
};

export function useFileSettings(gateway: Gateway, workspace: string): Signal<readonly Setting[]> {
  const found = useSignal<readonly Setting[]>([]);
  useEffect(() => {
    let current = true;
    gateway.client.getSettings({ workspace }).then(
      ({ settings }) => {
        if (current) found.value = settings;
      },
      // The problem is shown above the settings.
      () => undefined,
    );
    return () => {
      current = false;
    };
  }, [gateway, workspace]);
  return found;
}

/** Whether a search finds a setting: every word is in its name, its meaning or the title above it. */
export function isFound(search: string, ...texts: readonly string[]): boolean {
  const text = texts.join(" ").toLowerCase();
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

interface FileSettingProps {
  readonly setting: Setting;
  readonly settings: Signal<readonly Setting[]>;
  readonly gateway: Gateway;
  readonly workspace: string;
  readonly agents: readonly Agent[];
}

export function FileSetting({ setting, settings, gateway, workspace, agents }: FileSettingProps) {
  adoptStyles(CSS);
  const problem = useSignal("");
  const saved = useSignal("");
  const { name, description, source } = setting;
  const elsewhere = ELSEWHERE[source];
  const change = async (valueJson: string, part = name): Promise<void> => {
    try {
      await gateway.client.setSettings({ settings: [{ name: part, valueJson }] });
      settings.value = (await gateway.client.getSettings({ workspace })).settings;
      problem.value = "";
      saved.value = valueJson === "" ? "Reset." : "Saved.";
    } catch (reason) {
      const { message, suggestion } = failureOf(reason);
      problem.value = `${message} ${suggestion}`.trim();
      saved.value = "";
    }
  };
  return (
    <div class="p-setting" role="group" aria-label={name}>
      <div class="p-setting-top">
        <code>{name}</code>
        <span class="p-soft">{description}</span>
      </div>
      {elsewhere === undefined ? (
        <SettingField setting={setting} agents={agents} change={(json, part) => void change(json, part)} />
      ) : (
        <p class="p-soft">
          <code>{setting.valueJson}</code> {elsewhere}
        </p>
      )}
      <FormProblem text={problem.value} />
      <span class="p-soft" role="status">
        {saved.value}
      </span>
    </div>
  );
}

interface SettingFieldProps {
  readonly setting: Setting;
  readonly agents: readonly Agent[];
  /** Changes the setting, or the part of it with a name such as `review.mode`. */
  readonly change: (valueJson: string, part?: string) => void;
}

function SettingField({ setting, agents, change }: SettingFieldProps) {
  const { name, valueJson } = setting;
  const value: unknown = JSON.parse(valueJson);
  if (name === "agent") {
    const names = agents.filter(({ installed }) => installed).map((agent) => agent.name);
    const chosen = String(value);
    return (
      <Select
        label={name}
        value={chosen}
        values={names.includes(chosen) ? names : [chosen, ...names]}
        change={(one) => change(JSON.stringify(one))}
      />
    );
  }
  const choice = CHOICES[name];
  return (
    <>
      {choice !== undefined && isRecord(value) && (
        <Select
          label={`${name}.${choice.key}`}
          value={textOf(value[choice.key])}
          values={choice.values}
          change={(one) => change(JSON.stringify(one), `${name}.${choice.key}`)}
        />
      )}
      <JsonField key={valueJson} setting={setting} change={change} />
    </>
  );
}

interface SelectProps {
  readonly label: string;
  readonly value: string;
  readonly values: readonly string[];
  readonly change: (value: string) => void;
}

function Select({ label, value, values, change }: SelectProps) {
  return (
    <select
      class="p-field p-select"
      aria-label={label}
      value={value}
      onChange={({ currentTarget }) => change(currentTarget.value)}
    >
      {!values.includes(value) && <option value={value}>{value === "" ? "Default" : value}</option>}
      {values.map((one) => (
        <option key={one} value={one}>
          {one}
        </option>
      ))}
    </select>
  );
}

/** The value as JSON, as it stands in the file. */
function JsonField({ setting, change }: Omit<SettingFieldProps, "agents">) {
  const { name, valueJson, source } = setting;
  const text = useSignal(readable(valueJson));
  const changed = text.value !== readable(valueJson);
  return (
    <div class="p-setting-row">
      <textarea
        class="p-field"
        aria-label={`${name} as JSON`}
        spellcheck={false}
        value={text.value}
        onInput={({ currentTarget }) => (text.value = currentTarget.value)}
      />
      <button type="button" class="p-button" disabled={!changed} onClick={() => change(text.value.trim())}>
        Save
      </button>
      {source === "user" && (
        <button type="button" class="p-button" onClick={() => change("")}>
          Reset
        </button>
      )}
    </div>
  );
}

/** Without what is not set, and with the person's own paths only: the file has no others. */
function readable(valueJson: string): string {
  const value: unknown = JSON.parse(valueJson);
  const own = isRecord(value) && Array.isArray(value["user"]) ? value["user"] : value;
  if (own === null) return "null";
  return JSON.stringify(own, (_, one: unknown) => (one === null ? undefined : one), 2);
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
