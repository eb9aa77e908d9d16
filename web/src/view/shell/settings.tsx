// Settings of the page, skills, permission grants and keyboard shortcuts.

import { useSignal, type Signal } from "@preact/signals";
import { createContext, type ComponentChildren } from "preact";
import { useContext } from "preact/hooks";
import { Dialog } from "../dialog";
import type { NoticeKind, SendKey, Theme } from "../preferences";
import { connectDialog } from "../models/connect-state";
import type { AppModel } from "./app-model";
import { Approvals } from "./approvals";
import { Decisions } from "./decisions";
import { canNotify, requestPermission } from "./desktop-notifications";
import { FILE_GROUPS, FileSetting, isFound, useFileSettings } from "./file-settings";
import { SettingsProblems } from "./settings-problems";
import { SHORTCUTS } from "./shortcuts";
import { Skills } from "./skills";
import { playSound } from "./sounds";
import { FormProblem } from "../form";

export type SettingsPage = "settings" | "shortcuts" | "decisions";

const TITLES: Readonly<Record<SettingsPage, string>> = {
  settings: "Settings",
  shortcuts: "Keyboard shortcuts",
  decisions: "Decisions of all sessions",
};

interface SettingsProps {
  readonly app: AppModel;
  readonly part: SettingsPage;
  readonly onShow: (part: SettingsPage) => void;
  readonly onLeave: () => void;
}

export function SettingsDialog({ app, part, onShow, onLeave }: SettingsProps) {
  return (
    <Dialog title={TITLES[part]} kind={part} onLeave={onLeave}>
      {part === "settings" && <Choices app={app} onShow={onShow} onLeave={onLeave} />}
      {part === "shortcuts" && <Keys />}
      {part === "decisions" && <Decisions gateway={app.gateway} folder={app.info.value?.workspace ?? ""} />}
    </Dialog>
  );
}

function Choices({ app, onShow, onLeave }: Omit<SettingsProps, "part">) {
  const { showThinking, sendKey, theme } = app.preferences;
  const here = app.info.value?.workspace ?? "";
  const workspace = app.front.value?.detail.value?.summary?.workspace ?? here;
  const search = useSignal("");
  const settings = useFileSettings(app.gateway, workspace);
  return (
    <SearchWords.Provider value={search.value}>
      <input
        class="p-field p-settings-search"
        type="search"
        placeholder="Search settings"
        aria-label="Search settings"
        value={search.value}
        onInput={({ currentTarget }) => (search.value = currentTarget.value)}
      />
      <SettingsProblems gateway={app.gateway} workspace={workspace} />
      <Group title="Appearance" words="theme system light dark">
        <Choice<Theme>
          label="Theme"
          value={theme.value}
          choices={{ system: "System", light: "Light", dark: "Dark" }}
          onChange={(chosen) => (theme.value = chosen)}
        />
      </Group>
      <Group title="Conversation" words="thinking send enter">
        <Switch
          label="Show the agent's thinking"
          on={showThinking.value}
          onChange={(on) => (showThinking.value = on)}
        />
        <Choice<SendKey>
          label="Send with"
          value={sendKey.value}
          choices={{ enter: "Enter", ctrl_enter: "Ctrl+Enter" }}
          onChange={(chosen) => (sendKey.value = chosen)}
        />
      </Group>
      <Group title="Notifications and sounds" words="done asks fails">
        <Announcements app={app} />
      </Group>
      <Group title="Porter" words="connect a model key provider">
        <button
          type="button"
          class="p-button"
          onClick={() => {
            onLeave();
            connectDialog(app.gateway).value = "model";
          }}
        >
          Connect a model…
        </button>
      </Group>
      <Group title="Skills" words="allow deny packages">
        <Skills gateway={app.gateway} workspace={workspace} />
      </Group>
      <Group title="Always allowed" words="permissions approvals decisions grants">
        <Approvals gateway={app.gateway} workspace={here} />
        <button type="button" class="p-button" onClick={() => onShow("decisions")}>
          Show all decisions…
        </button>
      </Group>
      <Group title="Keyboard shortcuts" words="keys">
        <button type="button" class="p-button" onClick={() => onShow("shortcuts")}>
          Show keyboard shortcuts…
        </button>
      </Group>
      {FILE_GROUPS.map(({ title, names }) => {
        const shown = settings.value.filter(({ name }) => names.includes(name));
        const words = shown.map(({ name, description }) => `${name} ${description}`).join(" ");
        return (
          shown.length > 0 && (
            <Group key={title} title={title} words={words}>
              {shown.map((setting) => (
                <FileSetting
                  key={setting.name}
                  setting={setting}
                  settings={settings}
                  gateway={app.gateway}
                  workspace={workspace}
                  agents={app.agents.value}
                />
              ))}
            </Group>
          )
        );
      })}
      <p class="p-soft p-dialog-foot">
        {app.info.value === undefined
          ? "Portico"
          : `Portico ${app.info.value.version} · ${app.info.value.workspace}`}
      </p>
    </SearchWords.Provider>
  );
}

/** Words of the search in the settings. */
const SearchWords = createContext("");

const MOMENTS: Readonly<Record<NoticeKind, string>> = {
  ended: "When a turn is done",
  asks: "When the agent asks",
  failed: "When a turn fails",
};

/** Notifications about sessions: each kind has a switch for a notification and one for a sound. */
function Announcements({ app }: { app: AppModel }) {
  const refused = useSignal(false);
  const { announcements } = app.preferences;
  const notifyOf = async (wanted: Signal<boolean>, on: boolean): Promise<void> => {
    wanted.value = on && (await requestPermission());
    refused.value = on && !wanted.peek();
  };
  return (
    <>
      <table class="p-keys">
        <tbody>
          {(Object.keys(MOMENTS) as NoticeKind[]).map((kind) => {
            const { notification, sound } = announcements[kind];
            return (
              <tr key={kind}>
                <th scope="row">{MOMENTS[kind]}</th>
                {canNotify() && (
                  <td>
                    <Switch
                      label="Notification"
                      about={MOMENTS[kind]}
                      on={notification.value}
                      onChange={(on) => void notifyOf(notification, on)}
                    />
                  </td>
                )}
                <td>
                  <Switch
                    label="Sound"
                    about={MOMENTS[kind]}
                    on={sound.value}
                    onChange={(on) => {
                      sound.value = on;
                      if (on) playSound(kind);
                    }}
                  />
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {canNotify() && <p class="p-soft">Notifications appear while this page is hidden.</p>}
      {refused.value && <FormProblem text="The browser blocks notifications from this page." />}
    </>
  );
}

function Keys() {
  return (
    <table class="p-keys">
      <tbody>
        {SHORTCUTS.map(({ keys, description }) => (
          <tr key={keys}>
            <th scope="row">
              {keys.split("  ").map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </th>
            <td>{description}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface GroupProps {
  readonly title: string;
  /** Words that find it, besides the title. */
  readonly words: string;
  readonly children: ComponentChildren;
}

function Group({ title, words, children }: GroupProps) {
  if (!isFound(useContext(SearchWords), title, words)) return null;
  return (
    <section class="p-group" aria-label={title}>
      <h3>{title}</h3>
      {children}
    </section>
  );
}

interface SwitchProps {
  readonly label: string;
  /** Accessible description, where only the position shows what it is about. */
  readonly about?: string;
  readonly on: boolean;
  readonly onChange: (on: boolean) => void;
}

function Switch({ label, about, on, onChange }: SwitchProps) {
  return (
    <label class="p-form-switch">
      <input
        type="checkbox"
        aria-label={about === undefined ? undefined : `${about}: ${label}`}
        checked={on}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      {label}
    </label>
  );
}

interface ChoiceProps<Value extends string> {
  readonly label: string;
  readonly value: Value;
  readonly choices: Readonly<Record<Value, string>>;
  readonly onChange: (value: Value) => void;
}

function Choice<Value extends string>({ label, value, choices, onChange }: ChoiceProps<Value>) {
  const values = Object.keys(choices) as Value[];
  return (
    <label class="p-form-choice">
      <span>{label}</span>
      <select
        class="p-field p-select"
        value={value}
        onChange={({ currentTarget }) => onChange(values.find((one) => one === currentTarget.value) ?? value)}
      >
        {values.map((one) => (
          <option key={one} value={one}>
            {choices[one]}
          </option>
        ))}
      </select>
    </label>
  );
}
