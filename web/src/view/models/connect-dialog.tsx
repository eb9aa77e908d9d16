// Dialog that connects a model: provider, key and model.

import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { Gateway } from "../../gateway/gateway";
import type { FoundModelServer, Provider } from "../../generated/portico/v1/agent_pb";
import type { SessionModel } from "../../model/types";
import { KeyForm } from "../cards/key-form";
import { CodeField, KeyField } from "../cards/key-field";
import { storageDescription } from "../cards/key-storage";
import { Dialog } from "../dialog";
import type { ConnectPart } from "./connect-state";
import { DownloadOffer } from "./download-offer";
import { ModelConnector } from "./model-connector";
import { Form, FormProblem } from "../form";
import { FoundServers, ServerForm } from "./server-form";

export interface ConnectDialogProps {
  readonly gateway: Gateway;
  readonly session: SessionModel | undefined;
  readonly part: ConnectPart;
  readonly onLeave: () => void;
}

export function ConnectDialog({ gateway, session, part, onLeave }: ConnectDialogProps) {
  const connecting = useMemo(() => new ModelConnector(gateway, session), [gateway, session]);
  const named = useSignal("");
  const server = useSignal<FoundModelServer | undefined>(undefined);
  useEffect(() => {
    void connecting.begin();
    return () => connecting.leave();
  }, [connecting]);
  const providers = connecting.providers.value;
  const offers = providers.flatMap(({ downloads }) => downloads).filter(({ done }) => !done);
  const [current] = connecting.model.value.split(":");
  const provider = providers.find(({ name }) => name === (named.value === "" ? current : named.value));
  const shown = provider ?? providers[0];
  const wantsCoder = part === "coder" && offers.length > 0;
  const isOther = named.value === OTHER;
  const isServer = named.value === SERVER;
  const choose = (name: string, found?: FoundModelServer): void => {
    named.value = name;
    server.value = found;
    connecting.served.value = [];
    connecting.stage.value = { state: "asking" };
  };
  return (
    <Dialog title="Connect a model" kind="form" onLeave={onLeave}>
      <FoundServers servers={connecting.found.value} onChoose={(found) => choose(SERVER, found)} />
      {offers.map((download) => (
        <DownloadOffer
          key={download.name}
          download={download}
          connecting={connecting}
          takesFocus={wantsCoder && download === offers[0]}
        />
      ))}
      {shown !== undefined && (
        <ProviderChoice
          providers={providers}
          value={isOther || isServer ? named.value : shown.name}
          takesFocus={!wantsCoder}
          onChange={choose}
        />
      )}
      {isOther && <KeyForm agent="" hint="" gateway={gateway} />}
      {isServer && (
        <ServerForm
          key={server.value?.server?.address ?? ""}
          chosen={server.value}
          connecting={connecting}
          gateway={gateway}
        />
      )}
      {!isOther && !isServer && shown !== undefined && (
        <ProviderForm key={shown.name} provider={shown} connecting={connecting} gateway={gateway} />
      )}
      <ConnectProgress connecting={connecting} />
    </Dialog>
  );
}

/** In place of a provider: a key for another agent, and a server of the person's own. */
const OTHER = "\u0000other";
const SERVER = "\u0000server";

/** Providers that must be installed or downloaded need more than a key. */
function canConnect({ ready, needsKey }: Provider): boolean {
  return ready || needsKey;
}

interface ProviderChoiceProps {
  readonly providers: readonly Provider[];
  readonly value: string;
  readonly takesFocus: boolean;
  readonly onChange: (name: string) => void;
}

function ProviderChoice({ providers, value, takesFocus, onChange }: ProviderChoiceProps) {
  const field = useRef<HTMLSelectElement>(null);
  // It comes after the dialog, which has given the focus to its only button.
  useLayoutEffect(() => {
    if (takesFocus) field.current?.focus();
  }, []);
  return (
    <label class="p-form-choice">
      <span>Provider</span>
      <select
        ref={field}
        class="p-field p-select"
        value={value}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
      >
        {providers.map(({ name, title, ready }) => (
          <option key={name} value={name}>
            {ready ? `${title} ✓` : title}
          </option>
        ))}
        <option value={SERVER}>Another server…</option>
        <option value={OTHER}>Key for another agent…</option>
      </select>
    </label>
  );
}

interface ModelFormProps {
  readonly provider: Provider;
  readonly connecting: ModelConnector;
  readonly gateway: Gateway;
}

function ProviderForm(props: ModelFormProps) {
  const { provider } = props;
  return canConnect(provider) ? <ModelForm {...props} /> : <p>{`${provider.title}: ${provider.detail}`}</p>;
}

function ModelForm({ provider, connecting, gateway }: ModelFormProps) {
  const { keyVariable, needsKey, hasKey } = provider;
  const key = useSignal("");
  const model = useSignal(modelIn(connecting.model.peek(), provider));
  const isBusy = connecting.stage.value.state === "busy";
  const isComplete = model.value.trim() !== "" && (!needsKey || key.value.trim() !== "");
  const connect = async (): Promise<void> => {
    if (isBusy || !isComplete) return;
    await connecting.connect({ provider, key: key.peek().trim(), model: model.peek().trim() });
    key.value = "";
  };
  return (
    <Form onSubmit={() => void connect()}>
      {keyVariable !== "" && (
        <KeyField value={key} about={aboutKey(provider, gateway)} placeholder={keyVariable} />
      )}
      <CodeField label="Model" value={model} suggestions={provider.models} />
      <div class="p-card-actions">
        <button type="submit" class="p-button p-button-main" disabled={isBusy || !isComplete}>
          Connect
        </button>
        {hasKey && (
          <button
            type="button"
            class="p-button"
            disabled={isBusy}
            onClick={() => void connecting.forget(provider)}
          >
            Delete key
          </button>
        )}
      </div>
    </Form>
  );
}

function aboutKey({ hasKey, needsKey, detail }: Provider, gateway: Gateway): string {
  if (hasKey) return "A key is stored. Leave this empty to keep it.";
  return needsKey ? storageDescription(gateway) : `${detail.charAt(0).toUpperCase()}${detail.slice(1)}.`;
}

/** The model that holds, if it is one of the provider's; else the usual one. */
function modelIn(current: string, { name, models }: Provider): string {
  return current.startsWith(`${name}:`) ? current.slice(name.length + 1) : (models[0] ?? "");
}

function ConnectProgress({ connecting }: { readonly connecting: ModelConnector }) {
  const stage = connecting.stage.value;
  const current = connecting.model.value;
  return (
    <>
      <div role="status">
        {stage.state === "busy" && <p class="p-soft">{stage.words}</p>}
        {stage.state === "done" && (
          <p>
            <i class="codicon codicon-check" aria-hidden="true" /> {stage.words}
          </p>
        )}
      </div>
      {stage.state === "problem" && <FormProblem text={stage.words} />}
      <p class="p-soft p-dialog-foot">
        {current === "" ? "Porter uses no model yet." : `Porter uses ${current}.`}
      </p>
    </>
  );
}
