// Form that connects a server of the person's own, and the offer of those that run on this machine.

import { useSignal, type Signal } from "@preact/signals";
import { useId } from "preact/hooks";
import type { Gateway } from "../../gateway/gateway";
import type { FoundModelServer } from "../../generated/portico/v1/agent_pb";
import { CodeField, KeyField } from "../cards/key-field";
import { storageDescription } from "../cards/key-storage";
import { Form } from "../form";
import type { ModelConnector, ServerRequest } from "./model-connector";

const KINDS: Readonly<Record<ServerRequest["kind"], string>> = {
  "openai-chat": "OpenAI-compatible",
  anthropic: "Anthropic-compatible",
};

interface ServerFormProps {
  /** One that was found, or none. */
  readonly chosen: FoundModelServer | undefined;
  readonly connecting: ModelConnector;
  readonly gateway: Gateway;
}

export function ServerForm({ chosen, connecting, gateway }: ServerFormProps) {
  const address = useSignal(chosen?.server?.address ?? "");
  const kind = useSignal<ServerRequest["kind"]>("openai-chat");
  const key = useSignal("");
  const model = useSignal(chosen?.models[0] ?? "");
  const isBusy = connecting.stage.value.state === "busy";
  const isComplete = address.value.trim() !== "";
  const served = connecting.served.value;
  const connect = async (): Promise<void> => {
    if (isBusy || !isComplete) return;
    await connecting.connectServer({
      address: address.peek().trim(),
      kind: kind.peek(),
      key: key.peek().trim(),
      model: model.peek().trim(),
    });
  };
  return (
    <Form onSubmit={() => void connect()}>
      <CodeField label="Address" value={address} />
      <KindChoice value={kind} />
      <KeyField value={key} about={`Leave this empty if it needs none. ${storageDescription(gateway)}`} />
      <CodeField
        label="Model"
        value={model}
        suggestions={served.length > 0 ? served : (chosen?.models ?? [])}
      />
      <div class="p-card-actions">
        <button type="submit" class="p-button p-button-main" disabled={isBusy || !isComplete}>
          Connect
        </button>
      </div>
    </Form>
  );
}

function KindChoice({ value }: { readonly value: Signal<ServerRequest["kind"]> }) {
  const id = useId();
  return (
    <div class="p-form-field">
      <label for={id}>API</label>
      <select
        id={id}
        class="p-field p-select"
        value={value.value}
        onChange={({ currentTarget }) => (value.value = currentTarget.value as ServerRequest["kind"])}
      >
        {Object.entries(KINDS).map(([kind, title]) => (
          <option key={kind} value={kind}>
            {title}
          </option>
        ))}
      </select>
    </div>
  );
}

interface FoundServersProps {
  readonly servers: readonly FoundModelServer[];
  readonly onChoose: (server: FoundModelServer) => void;
}

export function FoundServers({ servers, onChoose }: FoundServersProps) {
  if (servers.length === 0) return null;
  return (
    <section class="p-download" aria-label="Running on this machine">
      {servers.map((one) => (
        <div key={one.server?.address} class="p-found-server">
          <p>
            <strong>{one.title}</strong> {`runs at ${one.server?.address ?? ""}. `}
            <span class="p-soft">{modelsText(one.models)}</span>
          </p>
          <button type="button" class="p-button" onClick={() => onChoose(one)}>
            {`Use ${one.title}`}
          </button>
        </div>
      ))}
    </section>
  );
}

function modelsText(models: readonly string[]): string {
  if (models.length === 0) return "It needs a key.";
  const [first = "", ...others] = models;
  return others.length === 0 ? first : `${first} and ${others.length} more`;
}
